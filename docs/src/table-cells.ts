/**
 * Cells of tables that hold sentences: they keep a width in which these can be read, also on phones.
 */
import type { MarkdownRules } from './markdown-rules.js';

/** Characters of a cell that is more than a word or a number. */
const SENTENCE = 60;

export function tableCells(markdown: MarkdownRules): void {
  markdown.core.ruler.push('table-cells', ({ tokens }) => {
    for (const [i, token] of tokens.entries()) {
      if (token.type === 'td_open' && (tokens[i + 1]?.content.length ?? 0) > SENTENCE)
        token.attrJoin('class', 'sentence');
    }
  });
}
