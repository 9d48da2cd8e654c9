/** Colours of heat maps, as tables of pixels for a theme. */
import { useEffect, useState } from 'preact/hooks';

export type Theme = 'light' | 'dark';

type Rgb = readonly [red: number, green: number, blue: number];

/** From the most negative over zero to the most positive; and from no error to the largest. */
const STOPS: Readonly<
  Record<Theme, { readonly values: readonly Rgb[]; readonly errors: readonly Rgb[] }>
> = {
  light: {
    values: [
      [16, 62, 130],
      [92, 148, 214],
      [246, 247, 249],
      [232, 150, 92],
      [140, 52, 8],
    ],
    errors: [
      [246, 247, 249],
      [224, 160, 214],
      [168, 54, 150],
      [92, 12, 84],
    ],
  },
  dark: {
    values: [
      [146, 200, 255],
      [48, 104, 176],
      [29, 34, 40],
      [176, 92, 36],
      [255, 196, 138],
    ],
    errors: [
      [29, 34, 40],
      [122, 38, 110],
      [214, 98, 196],
      [255, 208, 246],
    ],
  },
};

const STEPS = 512;

/** STEPS colours, RGBA in memory order. */
export function colorTable(theme: Theme, kind: 'values' | 'errors'): Uint32Array {
  const stops = STOPS[theme][kind];
  const bytes = new Uint8Array(STEPS * 4);
  for (let i = 0; i < STEPS; i++) {
    const at = (i / (STEPS - 1)) * (stops.length - 1);
    const low = Math.min(stops.length - 2, Math.floor(at));
    for (let c = 0; c < 3; c++) {
      const [from, to] = [stops[low]?.[c] as number, stops[low + 1]?.[c] as number];
      bytes[4 * i + c] = Math.round(from + (at - low) * (to - from));
    }
    bytes[4 * i + 3] = 255;
  }
  return new Uint32Array(bytes.buffer);
}

/** Place of a value in the table: roots, so that small values differ beside large ones. */
export function valueStep(value: number, largest: number): number {
  const share = largest === 0 ? 0 : Math.sign(value) * Math.sqrt(Math.abs(value) / largest);
  return stepOf((share + 1) / 2);
}

export function errorStep(error: number, largest: number): number {
  return stepOf(largest === 0 ? 0 : Math.sqrt(Math.abs(error) / largest));
}

function stepOf(share: number): number {
  return Math.max(0, Math.min(STEPS - 1, Math.round(share * (STEPS - 1))));
}

const DARK = '(prefers-color-scheme: dark)';

export function useTheme(): Theme {
  const [theme, setTheme] = useState<Theme>(matchMedia(DARK).matches ? 'dark' : 'light');
  useEffect(() => {
    const query = matchMedia(DARK);
    const follow = () => setTheme(query.matches ? 'dark' : 'light');
    query.addEventListener('change', follow);
    return () => query.removeEventListener('change', follow);
  }, []);
  return theme;
}
