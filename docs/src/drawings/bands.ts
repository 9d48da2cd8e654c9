/**
 * Outlier bands: which values leave the dense codes, over the number line.
 */
import type { Scheme } from '@lowbit-kv/core';
import { html } from '../../../packages/report/src/markup.js';
import { box, LINE, legendLine, type Picture, WIDTH, words } from './picture.js';

const BANDS = ['outer', 'middle', 'inner', 'middle', 'outer'] as const;
const KIND = { outer: 'outliers', middle: 'codes', inner: 'parameters' } as const;
const EDGES = ['outerLow', 'innerLow', 'innerHigh', 'outerHigh'] as const;
/** Along the picture: where values lie is a matter of the model, so this is no scale. */
const PLACES = [0, 62, 140, 200, 278, WIDTH] as const;

/** Null for a scheme without bands. */
export function drawBands(scheme: Scheme): Picture | null {
  const { key } = scheme;
  if (key.bits === 16 || key.outliers?.kind !== 'bands') return null;
  const { shares, outlierBits, storage } = key.outliers;
  const meaning = {
    outer: `far out, ${outlierBits} bits, a sparse byte`,
    middle: `${key.bits} bits, dense`,
    inner: `close in, ${outlierBits} bits, a sparse byte`,
  };
  const bars = BANDS.map((band, i) => {
    const [x, end] = [PLACES[i] as number, PLACES[i + 1] as number];
    return html`${box(KIND[band], { x, y: 8, width: end - x, height: 34 }, `${band} band`)}`;
  });
  const edges = EDGES.map((edge, i) =>
    words(edge, PLACES[i + 1] as number, 58 + (i % 2) * 14, 'middle'),
  );
  const lines = (['outer', 'middle', 'inner'] as const).map((band, i) =>
    legendLine(KIND[band], `${percent(shares[band])} ${band}: ${meaning[band]}`, 98 + i * LINE),
  );
  return {
    title: `Outlier bands of ${scheme.id}`,
    description: `From the smallest values to the largest: outer, middle, inner, middle, outer, told apart by four calibrated thresholds. ${percent(shares.outer)} are outer, ${percent(shares.middle)} middle and ${percent(shares.inner)} inner where calibration aims; there is room for ${storage.reserve} outliers in 64 channels. Widths are no scale.`,
    height: 98 + 3 * LINE - 6,
    shapes: [bars, edges, lines],
  };
}

function percent(share: number): string {
  return `${Math.round(share * 1000) / 10} %`;
}
