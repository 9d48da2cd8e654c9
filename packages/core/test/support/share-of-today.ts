/**
 * What runs today of tests that are many of a kind and take minutes together, such as those whose shaders SwiftShader
 * compiles: another share every day, so that each runs within a week; everything with LOWBIT_KV_WHOLE_CONTRACT=1 and on a GPU.
 */
const IS_WHOLE = process.env.LOWBIT_KV_GPU === '1' || process.env.LOWBIT_KV_WHOLE_CONTRACT === '1';
const TODAY = Math.floor(Date.now() / 86_400_000);

export interface Share {
  readonly part: number;
  readonly of: number;
}

/** Says on stderr which part it is of what is named. */
export function shareOfToday(name: string, of: number): Share {
  if (IS_WHOLE) return { part: 0, of: 1 };
  const share = { part: TODAY % of, of };
  process.stderr.write(`${name}: part ${share.part} of ${of}\n`);
  return share;
}

/** The elements of a part: every `of`th one. Of fewer than `of` some come more often, and no part is empty. */
export function elementsOf<T>(all: readonly T[], { part, of }: Share): T[] {
  const parts = Math.min(of, all.length);
  return all.filter((_, index) => index % parts === part % parts);
}
