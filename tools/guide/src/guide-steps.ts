/**
 * What a guide tells its reader to do: files to write and commands to run, in order.
 *
 * A file is a code block right after a paragraph that is nothing but its path in backticks and a colon. Commands are the
 * lines of `sh` blocks; a `text` block says what those of the `sh` block before it print.
 */

export type GuideStep =
  | { readonly kind: 'file'; readonly path: string; readonly text: string }
  | { readonly kind: 'commands'; readonly lines: readonly string[]; readonly printed: string[] };

export function guideSteps(markdown: string): GuideStep[] {
  const steps: GuideStep[] = [];
  for (const [, path, language, text = ''] of markdown.matchAll(
    /(?:^`([\w./-]+)`:\n\n)?^```(\w+)\n([\s\S]*?)^```$/gm,
  )) {
    const lines = text.trimEnd().split('\n');
    if (path !== undefined) steps.push({ kind: 'file', path, text });
    else if (language === 'sh') steps.push({ kind: 'commands', lines, printed: [] });
    else if (language === 'text') {
      const last = steps.findLast((step) => step.kind === 'commands');
      if (last === undefined) throw new Error('a text block before any command');
      last.printed.push(...lines);
    } else throw new Error(`a ${language} block that is neither a file nor commands:\n${text}`);
  }
  return steps;
}
