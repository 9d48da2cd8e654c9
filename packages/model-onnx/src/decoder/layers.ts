/**
 * What a cut decoder says of its layers.
 */
import type { Geometry, LayerGeometry, RotaryEmbedding } from '@lowbit-kv/core';
import type { AttentionSite } from '../attention/site.js';
import type { ModelConfig } from '../model/config.js';
import type { DecoderLayer } from './decoder.js';
import type { SiteRotary } from './rotary-tables.js';

export function layerOf(site: AttentionSite, rotary: RotaryEmbedding | null): DecoderLayer {
  const { queryHeads, kvHeads, keyHeadDim, valueHeadDim, scale, softCap, window } = site.geometry;
  return {
    geometry: {
      ...{ queryHeads, kvHeads, keyHeadDim, valueHeadDim, scale, softCap, rotary },
      slidingWindow: window === null ? null : { size: window, sinks: 0 },
    },
    form: site.form,
  };
}

/** The first layer's numbers, and the others' where they differ. */
export function geometryOf(layers: readonly DecoderLayer[]): Geometry {
  const [first, ...others] = layers.map((layer) => plain(layer.geometry));
  if (first === undefined) throw new TypeError('a decoder has layers');
  const layerOverrides = others.flatMap((geometry, i) => {
    const same = JSON.stringify(geometry) === JSON.stringify(first);
    return same ? [] : [{ layers: [i + 1], ...geometry }];
  });
  return {
    layers: layers.length,
    ...first,
    ...(layerOverrides.length > 0 && { layerOverrides }),
  };
}

function plain({ rotary, slidingWindow, ...numbers }: LayerGeometry) {
  return {
    ...numbers,
    slidingWindow: slidingWindow === null ? null : { ...slidingWindow },
    rotary: rotary === null ? null : { pairs: rotary.pairs, frequencies: [...rotary.frequencies] },
  };
}

/** The configuration's, and no more than the tables of rotary embeddings have and masks were tried for. */
export function contextLimitOf(
  config: ModelConfig,
  tables: readonly (SiteRotary | null)[],
  ofMasks: number | null,
): number | null {
  const limits = [
    config.max_position_embeddings ?? Number.POSITIVE_INFINITY,
    ofMasks ?? Number.POSITIVE_INFINITY,
    ...tables.map((rotary) => rotary?.table.positions ?? Number.POSITIVE_INFINITY),
  ];
  const limit = Math.min(...limits);
  return Number.isFinite(limit) ? limit : null;
}
