/** Chat templates: Jinja text with its parts cut, repeated and mixed. */
import { readChatTemplate, renderChat } from '@lowbit-kv/model-onnx';
import { mutateBytes } from '../mutate/bytes.js';
import { mutateJson } from '../mutate/json.js';
import type { Random } from '../random.js';
import { mustHold, type Target } from '../target.js';
import { Scratch } from './scratch.js';

const TEMPLATES = [
  "{{ bos_token }}{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] | trim }}{{ eos_token }}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}",
  "{%- set ns = namespace(first=true) -%}{%- macro turn(m) -%}[{{ m.role | upper }}]{{ m.content }}{%- endmacro -%}{%- for m in messages -%}{%- if loop.index0 > 0 and m.role not in ['user', 'assistant'] -%}{{ raise_exception('roles') }}{%- endif -%}{{ turn(m) }}{%- endfor -%}",
  "{{ messages[0].content.split(' ')[-1] ~ (messages | length) }}{{ messages[:1] | tojson }}{{ 3 * 4 // 5 % 2 }}{{ range(3) | join(',') }}",
];
const FRAGMENTS = [
  ...['{{', '}}', '{%', '%}', '{#', '#}', '|', '(', ')', '[', ']', '.', ',', '~', '-', "'", '"'],
  ...['messages', 'loop', 'range(9)', 'namespace()', '__proto__', 'constructor', 'x is defined'],
  ...['{% for a in messages %}', '{% endfor %}', '{% if a %}', '{% endif %}', '{% set a = 1 %}'],
  ...['{% break %}', '| tojson', '| list', '| items', '[::-1]', "['constructor']", 'None', '1/0'],
];
const MESSAGES = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: '2 + 2 <|user|> {{ x }}?' },
];

export const chatTemplate: Target = {
  name: 'chat-template',
  codes: ['TOKENIZER_INVALID'],
  // A template is ended after one.
  seconds: 2,
  async open() {
    const scratch = new Scratch('chat');
    scratch.write('tokenizer.json', '{}');
    return {
      mutant(random) {
        const text = mutateText(random, random.pick(TEMPLATES));
        return random.chance(0.2)
          ? mutateJson(random, { chat_template: [{ name: 'default', template: text }] })
          : mutateJsonOf(random, text);
      },
      async check(mutant) {
        scratch.write('tokenizer_config.json', mutant);
        const template = await readChatTemplate(scratch.folder);
        if (template === null) return;
        const text = renderChat(template, MESSAGES, { bosToken: '<s>', eosToken: '</s>' });
        mustHold(typeof text === 'string', 'a prompt that is no text');
      },
      close: async () => scratch.remove(),
    };
  },
};

function mutateJsonOf(random: Random, text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  const changed = random.chance(0.3) ? mutateBytes(random, bytes) : bytes;
  const template = new TextDecoder().decode(changed);
  return new TextEncoder().encode(JSON.stringify({ chat_template: template }));
}

function mutateText(random: Random, template: string): string {
  const parts = template.split(/(?<=[}%]\})|(?=\{[{%])|\b/);
  for (let left = 1 + random.small(4); left > 0; left--) {
    const at = random.below(parts.length);
    const change = random.pick(['insert', 'remove', 'repeat', 'swap']);
    if (change === 'insert') parts.splice(at, 0, random.pick(FRAGMENTS));
    else if (change === 'remove') parts.splice(at, 1 + random.small(4));
    else if (change === 'repeat') parts.splice(at, 0, ...parts.slice(at, at + 1 + random.small(9)));
    else parts.push(...parts.splice(at, 1));
  }
  return parts.join('');
}
