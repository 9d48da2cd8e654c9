/** Memory between and beyond the context lengths of a report, and what fits on a card. */
import type { MemoryFigure } from '@lowbit-kv/harness';
import type { SchemeView } from '../view/view.js';

/** Marketing gigabytes of cards are GiB. */
export const CARD_GIGABYTES = [8, 12, 16, 24, 48, 80, 141] as const;

export const GIBIBYTE = 1024 ** 3;

export interface MemoryLine {
  readonly id: string;
  /** By rising length. */
  readonly points: readonly { readonly tokens: number; readonly bytes: number }[];
}

/** f16 first, then the schemes, each with at least two lengths. */
export function memoryLines(schemes: readonly SchemeView[]): MemoryLine[] {
  const measured = schemes.filter(
    ({ memory, verdict }) => memory.length > 1 && verdict.level !== 'baseline' && rises(memory),
  );
  const [first] = measured;
  if (first === undefined) return [];
  const line = (
    { id, memory }: SchemeView,
    bytes: (figure: MemoryFigure) => number,
  ): MemoryLine => ({
    id,
    points: memory.map((figure) => ({ tokens: figure.tokens, bytes: bytes(figure) })),
  });
  return [
    { ...line(first, ({ f16Bytes }) => f16Bytes), id: 'f16' },
    ...measured.map((scheme) => line(scheme, ({ bytes }) => bytes)),
  ];
}

/** As every plan does; a line through anything else means nothing. */
function rises(memory: readonly MemoryFigure[]): boolean {
  return memory.every(({ tokens, bytes, f16Bytes }, i) => {
    const before = memory[i - 1] ?? { tokens: -1, bytes: 1, f16Bytes: 1 };
    return tokens > before.tokens && bytes >= before.bytes && f16Bytes >= before.f16Bytes;
  });
}

/** Windows are constant and packed tokens are alike, so the planned lengths lie on a line: pages aside, this is exact. */
export function memoryAt({ points }: MemoryLine, tokens: number): number {
  const [a, b] = segment(points, (point) => point.tokens >= tokens);
  return a.bytes + ((tokens - a.tokens) * (b.bytes - a.bytes)) / (b.tokens - a.tokens);
}

/** Tokens of one sequence whose cache takes `bytes`; 0 where the shortest planned one does not fit and none is known. */
export function tokensThatFit({ points }: MemoryLine, bytes: number): number {
  const [a, b] = segment(points, (point) => point.bytes >= bytes);
  const tokens = a.tokens + ((bytes - a.bytes) * (b.tokens - a.tokens)) / (b.bytes - a.bytes);
  return Math.max(0, Math.floor(tokens));
}

type Point = MemoryLine['points'][number];

function segment(points: readonly Point[], reached: (point: Point) => boolean): [Point, Point] {
  const found = points.findIndex(reached);
  const end = found < 0 ? points.length - 1 : Math.max(1, found);
  return [points[end - 1] as Point, points[end] as Point];
}
