/**
 * `pnpm test:model --model DIR [--text FILE]`: the tests on real weights. DIR is SmolLM2-135M-Instruct as the onnx-community
 * publishes it, 4 bit; FILE the raw test split of WikiText-2, by default beside DIR.
 */
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startVitest } from 'vitest/node';

const { values } = parseArgs({
  options: { model: { type: 'string' }, text: { type: 'string' } },
});
// pnpm runs scripts in the root of the workspace, whatever the user's directory.
const from = process.env.INIT_CWD ?? process.cwd();

function located(option: 'model' | 'text', path: string | undefined): string {
  const place = path === undefined ? undefined : resolve(from, path);
  if (place !== undefined && existsSync(place)) return place;
  console.error(
    `test:model: ${place === undefined ? 'which model?' : `there is no ${place}`}\n  Usage: pnpm test:model --model DIR [--text FILE]; it fetches nothing. --${option} is missing here.`,
  );
  process.exit(1);
}

const model = located('model', values.model);
process.env.LOWBIT_KV_MODEL = model;
process.env.LOWBIT_KV_TEXT = located(
  'text',
  values.text ?? join(dirname(model), 'wikitext-2-raw-test.txt'),
);
const root = fileURLToPath(new URL('../../..', import.meta.url));
const config = join(root, 'packages/model-onnx/vitest.model.config.ts');
const vitest = await startVitest('test', [], { config, root, run: true, watch: false });
await vitest.close();
