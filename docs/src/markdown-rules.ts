/**
 * What rules over documents need of markdown-it: vitepress brings a copy with types of its own.
 */
import type MarkdownIt from 'markdown-it';

type Token = ReturnType<MarkdownIt['parse']>[number];

export interface MarkdownRules {
  readonly core: {
    readonly ruler: {
      push(name: string, rule: (state: { readonly tokens: Token[]; env: unknown }) => void): void;
    };
  };
}
