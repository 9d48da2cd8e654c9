/** Attention weights over tokens, on a logarithmic scale: before as an area, after as lines. */
import { useWidth } from './use-width.js';

export interface WeightsLine {
  readonly letter: 'A' | 'B' | 'C';
  readonly weights: Float64Array;
}

export interface WeightsChartProps {
  readonly exact: Float64Array;
  readonly lines: readonly WeightsLine[];
  readonly label: string;
}

const HEIGHT = 240;
const MARGIN = { left: 46, right: 8, top: 10, bottom: 26 } as const;
/** Smaller weights lie on the floor. */
const FLOOR = -6;
const DECADES = [0, -1, -2, -3, -4, -5, -6] as const;
/** Pixels of a column; a column shows the largest weight in it. */
const COLUMN = 3;

export function WeightsChart({ exact, lines, label }: WeightsChartProps) {
  const [element, width] = useWidth<HTMLDivElement>(700);
  const across = width - MARGIN.left - MARGIN.right;
  const down = HEIGHT - MARGIN.top - MARGIN.bottom;
  const columns = Math.max(1, Math.min(exact.length, Math.floor(across / COLUMN)));
  const y = (weight: number) => MARGIN.top + (Math.max(FLOOR, Math.log10(weight)) / FLOOR) * down;
  const points = (weights: Float64Array) =>
    Array.from({ length: columns }, (_, column) => {
      const first = Math.floor((column * weights.length) / columns);
      const end = Math.max(first + 1, Math.floor(((column + 1) * weights.length) / columns));
      const x = MARGIN.left + ((column + 0.5) / columns) * across;
      return `${x.toFixed(1)} ${y(Math.max(...weights.subarray(first, end))).toFixed(1)}`;
    });
  const floor = MARGIN.top + down;
  return (
    <div ref={element} class="weights-chart">
      <svg
        width={width}
        height={HEIGHT}
        viewBox={`0 0 ${width} ${HEIGHT}`}
        role="img"
        aria-label={label}
      >
        {DECADES.map((power) => (
          <g key={power}>
            <line
              class="grid"
              x1={MARGIN.left}
              x2={width - MARGIN.right}
              y1={y(10 ** power)}
              y2={y(10 ** power)}
            />
            <text x={MARGIN.left - 6} y={y(10 ** power) + 4} text-anchor="end">
              {power === 0 ? '1' : `10${SUPERSCRIPTS[-power]}`}
            </text>
          </g>
        ))}
        <path
          class="exact"
          d={`M${MARGIN.left} ${floor}L${points(exact).join('L')}L${width - MARGIN.right} ${floor}Z`}
        />
        {lines.map(({ letter, weights }) => (
          <path key={letter} class={`line line-${letter}`} d={`M${points(weights).join('L')}`} />
        ))}
        <text x={MARGIN.left} y={HEIGHT - 6}>
          token 0
        </text>
        <text x={width - MARGIN.right} y={HEIGHT - 6} text-anchor="end">
          token {exact.length - 1}
        </text>
      </svg>
    </div>
  );
}

const SUPERSCRIPTS = ['⁰', '⁻¹', '⁻²', '⁻³', '⁻⁴', '⁻⁵', '⁻⁶'] as const;
