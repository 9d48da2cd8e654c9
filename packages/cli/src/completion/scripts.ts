/**
 * Completion scripts of shells: all words are in them, so that completing runs nothing.
 */
import type { CommandWords, OptionWords, ShellWords } from './words.js';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

export function completionScript(shell: Shell, words: ShellWords): string {
  if (shell === 'bash') return bashScript(words);
  return shell === 'zsh' ? zshScript(words) : fishScript(words);
}

const flagsOf = (options: readonly OptionWords[]) =>
  options.flatMap(({ flags }) => flags.filter((flag) => flag.startsWith('--'))).join(' ');

/** Of the program and its commands, those that a value follows. */
function* valued({ options, commands }: ShellWords): Generator<[string, OptionWords]> {
  for (const option of options) if (option.takesValue) yield ['', option];
  for (const { name, options: own } of commands)
    for (const option of own) if (option.takesValue) yield [name, option];
}

/** What stands alone after the name of a command. */
const wordsOf = ({ options, values }: CommandWords) => [flagsOf(options), ...values].join(' ');

function bashScript(words: ShellWords): string {
  const { program, options, commands } = words;
  const names = commands.map(({ name }) => name);
  const values = [...valued(words)].map(([command, { flags, isVariadic, values: known }]) => {
    const patterns = flags.map((flag) => `${command}:${flag}`).join('|');
    const reply = known.length === 0 ? 'files=1' : `words="${known.join(' ')}"`;
    return `    ${patterns}) takes=${isVariadic ? 'some' : 'one'}; ${reply} ;;`;
  });
  return `# ${program} completion for bash: source it, or put it into ~/.local/share/bash-completion/completions/${program}
_lowbit_kv() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local command="" option="" takes="" files="" words="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in
      -*) option="$word" ;;
      ${names.join('|')}) [ -n "$command" ] || command="$word" ;;
    esac
  done
  COMPREPLY=()
  case "$command:$option" in
${values.join('\n')}
  esac
  if [ "$takes" = one ] && [ "$option" != "$previous" ]; then takes=""; fi
  if [ -z "$takes" ] || [ "\${current:0:1}" = - ]; then
    files=""
    case "$command" in
      "") words="${names.join(' ')} ${flagsOf(options)}" ;;
${commands.map((command) => `      ${command.name}) words="${wordsOf(command)}" ;;`).join('\n')}
    esac
  fi
  [ -n "$files" ] || COMPREPLY=($(compgen -W "$words" -- "$current"))
  [ "\${#COMPREPLY[@]}" -gt 0 ] || compopt -o default
}
complete -F _lowbit_kv ${program}`;
}

/** Within single quotes. */
const quoted = (text: string) => text.replaceAll("'", `'\\''`);

function zshScript({ program, options, commands }: ShellWords): string {
  const escaped = (text: string) => quoted(text).replace(/[[\]:\\]/g, '\\$&');
  const specification = ({ flags, description, takesValue, isVariadic, values }: OptionWords) => {
    const value = values.length === 0 ? '_files' : `(${values.join(' ')})`;
    const tail = takesValue ? `:value:${value}` : '';
    return flags
      .map((flag) => `      '${isVariadic ? '*' : ''}${flag}[${escaped(description)}]${tail}'`)
      .join(' \\\n');
  };
  const argumentsOf = (own: readonly OptionWords[]) => own.map(specification).join(' \\\n');
  const cases = commands.map(
    ({ name, options: own, values }) =>
      `    ${name}) _arguments '*:argument:${values.length === 0 ? '_lowbit_kv_more' : `(${values.join(' ')})`}' \\\n${argumentsOf(own)} ;;`,
  );
  const lists = new Map(
    commands
      .flatMap(({ options: own }) => own)
      .filter(({ isVariadic, values }) => isVariadic && values.length > 0)
      .flatMap(({ flags, values }) => flags.map((flag) => [flag, values] as const)),
  );
  return `#compdef ${program}
# ${program} completion for zsh: put it as _${program} into a folder of $fpath.
# More values of the last option, or files.
_lowbit_kv_more() {
  case \${words[(R)-*]} in
${[...lists].map(([flag, values]) => `    ${flag}) compadd -- ${values.join(' ')} ;;`).join('\n')}
  esac
  _files
}
_lowbit_kv() {
  local -a commands
  commands=(
${commands.map(({ name, description }) => `    '${name}:${escaped(description)}'`).join('\n')}
  )
  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
    _describe command commands
    return
  fi
  case $words[2] in
${cases.join('\n')}
    *) _arguments \\
${argumentsOf(options)} ;;
  esac
}
if [ "$funcstack[1]" = "_${program}" ]; then _lowbit_kv "$@"; else compdef _lowbit_kv ${program}; fi`;
}

function fishScript({ program, options, commands }: ShellWords): string {
  const line = (condition: string, option: OptionWords) => {
    const names = option.flags.map((flag) =>
      flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`,
    );
    const known = option.values.length === 0 ? '-r' : `-x -a '${option.values.join(' ')}'`;
    const value = option.takesValue ? ` ${known}` : '';
    const first = `complete -c ${program} -n '${condition}' ${names.join(' ')}${value} -d '${escapedForFish(option.description)}'`;
    if (!option.isVariadic || option.values.length === 0) return first;
    const more = `${condition}; and __lowbit_kv_after ${option.flags.join(' ')}`;
    return `${first}\ncomplete -c ${program} -n '${more}' -f -a '${option.values.join(' ')}'`;
  };
  const ofCommand = ({ name, options: own, values }: CommandWords) => [
    ...own.map((option) => line(`__fish_seen_subcommand_from ${name}`, option)),
    ...(values.length === 0
      ? []
      : [
          `complete -c ${program} -n '__fish_seen_subcommand_from ${name}' -f -a '${values.join(' ')}'`,
        ]),
  ];
  return [
    `# ${program} completion for fish: put it into ~/.config/fish/completions/${program}.fish`,
    '# Whether the last option that was typed is one of these.',
    'function __lowbit_kv_after',
    "  set -l options (string match -- '-*' (commandline -opc))",
    '  contains -- "$options[-1]" $argv',
    'end',
    ...commands.map(
      ({ name, description }) =>
        `complete -c ${program} -f -n __fish_use_subcommand -a ${name} -d '${escapedForFish(description)}'`,
    ),
    ...options.map((option) => line('__fish_use_subcommand', option)),
    ...commands.flatMap(ofCommand),
  ].join('\n');
}

function escapedForFish(text: string): string {
  return text.replace(/['\\]/g, '\\$&');
}
