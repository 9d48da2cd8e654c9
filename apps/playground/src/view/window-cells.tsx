/** Tokens as cells of three kinds, in rows. */
import type { WindowStep } from '../run/window-states.js';
import { useWidth } from './use-width.js';

export interface WindowCellsProps {
  readonly step: WindowStep | null;
  /** Cells there is room for. */
  readonly most: number;
}

const COLUMNS = 64;
const GAP = 1;

export function WindowCells({ step, most }: WindowCellsProps) {
  const [element, width] = useWidth<HTMLDivElement>(700);
  const side = width / COLUMNS;
  const rows = Math.ceil(most / COLUMNS);
  const cells = (first: number, count: number) =>
    Array.from({ length: count }, (_, i) => {
      const [column, row] = [(first + i) % COLUMNS, Math.floor((first + i) / COLUMNS)];
      const inner = side - GAP;
      return `M${(column * side).toFixed(2)} ${(row * side).toFixed(2)}h${inner.toFixed(2)}v${inner.toFixed(2)}h-${inner.toFixed(2)}z`;
    }).join('');
  const { sinks = 0, packed = 0, tail = 0 } = step ?? {};
  const length = sinks + packed + tail;
  return (
    <div ref={element} class="cells">
      <svg viewBox={`0 0 ${width} ${rows * side}`} aria-hidden="true">
        <path class="cell-free" d={cells(length, most - length)} />
        <path class="cell-sink" d={cells(0, sinks)} />
        <path class="cell-packed" d={cells(sinks, packed)} />
        <path class="cell-tail" d={cells(sinks + packed, tail)} />
      </svg>
    </div>
  );
}
