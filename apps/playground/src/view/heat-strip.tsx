/** One head as a picture: tokens from left to right, channels from top to bottom. */
import { useEffect, useRef } from 'preact/hooks';
import { colorTable, errorStep, type Theme, valueStep } from './colors.js';
import type { HeadMap } from './head-values.js';

export interface HeatStripProps {
  readonly title: string;
  /** What the picture shows, in words. */
  readonly summary: string;
  readonly map: HeadMap | null;
  readonly kind: 'values' | 'errors';
  /** Magnitude of the strongest colour. */
  readonly largest: number;
  readonly theme: Theme;
  readonly token: number;
  readonly channel: number;
  readonly pick: (token: number, channel: number) => void;
}

export function HeatStrip(props: HeatStripProps) {
  const { title, summary, map, kind, largest, theme, token, channel, pick } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    if (canvas.current !== null && map !== null) paint(canvas.current, map, kind, largest, theme);
  }, [map, kind, largest, theme]);
  const pickAt = (event: PointerEvent) => {
    if (map === null || event.buttons === 0) return;
    const { left, top, width, height } = (
      event.currentTarget as HTMLElement
    ).getBoundingClientRect();
    const within = (share: number, count: number) =>
      Math.max(0, Math.min(count - 1, Math.floor(share * count)));
    pick(
      within((event.clientX - left) / width, map.tokens),
      within((event.clientY - top) / height, map.channels),
    );
  };
  return (
    <figure class="strip">
      <figcaption>
        <strong>{title}</strong>
        <span>{summary}</span>
      </figcaption>
      <div class="strip-map">
        <canvas
          ref={canvas}
          role="img"
          aria-label={`${title}: ${summary}`}
          onPointerDown={pickAt}
          onPointerMove={pickAt}
        />
        {map !== null && (
          <>
            <i class="cross-token" style={{ left: `${(100 * (token + 0.5)) / map.tokens}%` }} />
            <i
              class="cross-channel"
              style={{ top: `${(100 * (channel + 0.5)) / map.channels}%` }}
            />
          </>
        )}
      </div>
    </figure>
  );
}

/** Tokens beyond this many share columns: a picture shows the strongest of them. */
const MOST_COLUMNS = 2048;

function paint(
  canvas: HTMLCanvasElement,
  { values, tokens, channels }: HeadMap,
  kind: 'values' | 'errors',
  largest: number,
  theme: Theme,
): void {
  const together = Math.ceil(tokens / MOST_COLUMNS);
  const columns = Math.ceil(tokens / together);
  canvas.width = columns;
  canvas.height = channels;
  const context = canvas.getContext('2d') as CanvasRenderingContext2D;
  const image = context.createImageData(columns, channels);
  const pixels = new Uint32Array(image.data.buffer);
  const table = colorTable(theme, kind);
  const step = kind === 'values' ? valueStep : errorStep;
  for (let column = 0; column < columns; column++) {
    for (let channel = 0; channel < channels; channel++) {
      let strongest = 0;
      for (let i = 0; i < together; i++) {
        const value = values[(column * together + i) * channels + channel] ?? 0;
        if (Math.abs(value) > Math.abs(strongest)) strongest = value;
      }
      pixels[channel * columns + column] = table[step(strongest, largest)] as number;
    }
  }
  context.putImageData(image, 0, 0);
}
