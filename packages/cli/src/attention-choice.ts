/** Values of `--attention`. */
export const ATTENTION = ['cut', 'past-injection'] as const;
export type AttentionChoice = (typeof ATTENTION)[number];
