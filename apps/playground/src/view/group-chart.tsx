/** A histogram with the levels of a group on it. */
import type { GroupView } from '../run/group-view.js';
import { figure } from './text.js';
import { useWidth } from './use-width.js';

export interface GroupChartProps {
  readonly view: Extract<GroupView, { kind: 'group' }>;
  readonly label: string;
}

const SIZE = { height: 190, left: 10, right: 10, top: 26, bottom: 26 } as const;
const BARS = 24;
/** More levels than this are drawn without their codes. */
const MOST_NAMED = 16;

export function GroupChart({ view, label }: GroupChartProps) {
  const [element, width] = useWidth<HTMLDivElement>(360);
  const { values, stored, levels, index } = view;
  const all = [...values, ...(levels ?? stored)];
  const [low, high] = widened(Math.min(...all), Math.max(...all));
  const x = (value: number) =>
    SIZE.left + ((value - low) / (high - low)) * (width - SIZE.left - SIZE.right);
  const floor = SIZE.height - SIZE.bottom;
  const counts = histogram(values, low, high);
  const most = Math.max(...counts);
  const barWidth = (width - SIZE.left - SIZE.right) / BARS;
  const [from, to] = [x(values[index] as number), x(stored[index] as number)];
  return (
    <div ref={element} class="chart">
      <svg
        width={width}
        height={SIZE.height}
        viewBox={`0 0 ${width} ${SIZE.height}`}
        role="img"
        aria-label={label}
      >
        {counts.map((n, i) => {
          const height = (n / most) * (floor - SIZE.top - 14);
          return (
            <rect
              key={i}
              class="bar"
              x={SIZE.left + i * barWidth + 0.5}
              y={floor - height}
              width={barWidth - 1}
              height={height}
            />
          );
        })}
        {(levels ?? []).map((level) => (
          <line
            key={level}
            class="level"
            x1={x(level)}
            x2={x(level)}
            y1={SIZE.top}
            y2={floor + 5}
          />
        ))}
        <line class="axis" x1={SIZE.left} x2={width - SIZE.right} y1={floor} y2={floor} />
        <path class="move" d={`M${from} ${SIZE.top - 8}H${to}`} />
        <circle class="before" cx={from} cy={SIZE.top - 8} r={3.5} />
        <circle class="after" cx={to} cy={SIZE.top - 8} r={3.5} />
        <text x={SIZE.left} y={SIZE.height - 6}>
          {figure(low)}
        </text>
        <text x={width - SIZE.right} y={SIZE.height - 6} text-anchor="end">
          {figure(high)}
        </text>
        <text x={width / 2} y={SIZE.height - 6} text-anchor="middle">
          {levels !== null && levels.length > MOST_NAMED ? `${levels.length} levels` : ''}
        </text>
      </svg>
    </div>
  );
}

/** A little room on both sides, and never nothing. */
function widened(low: number, high: number): readonly [number, number] {
  const room = (high - low || Math.abs(high) || 1) * 0.03;
  return [low - room, high + room];
}

function histogram(values: readonly number[], low: number, high: number): number[] {
  const counts = new Array<number>(BARS).fill(0);
  for (const value of values) {
    const bar = Math.min(BARS - 1, Math.floor(((value - low) / (high - low)) * BARS));
    counts[bar] = (counts[bar] as number) + 1;
  }
  return counts;
}
