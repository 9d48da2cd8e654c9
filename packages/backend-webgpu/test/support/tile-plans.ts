/**
 * Plans that are packed in one pass, one for each way in which tiles differ, and a history that packs them from windows and
 * inputs, of two sequences, over edges of f16.
 */
import { createPlan, f16Tensor, type HostTensor, type LayerPlan, type Plan } from '@lowbit-kv/core';
import { createTwin, type Twin } from '@lowbit-kv/core/contract';
import {
  asymmetric,
  channelScaled,
  createDraws,
  hybrid,
  inlineCalibration,
  inlineScheme,
  levelTable,
  type SchemeParts,
  symmetric,
} from '@lowbit-kv/core/testing';
import { webgpuBackend } from '../../src/index.js';
import { codeOrder } from '../../src/shaders/code-order.js';
import { tileShape } from '../../src/shaders/pack-tile.js';

interface TileCase extends SchemeParts {
  readonly keyHeadDim?: number;
  readonly valueHeadDim?: number;
  readonly blockTokens?: number;
}

const HEADS = 2;

/** Packs that do not end with a group, a word of codes or a word of parameters. */
const ragged = { recent: 5, flush: 1 };
const four = { recent: 3, flush: 4 };
const seven = { recent: 3, flush: 7 };

const CASES = {
  'outer axes, 4 bit, 128': {
    key: asymmetric(4, 'tokens', 128),
    value: asymmetric(4, 'channels', 128, ragged),
  },
  'outer axes, 4 bit, 32': {
    key: asymmetric(4, 'tokens', 32),
    value: asymmetric(4, 'channels', 32, four),
  },
  'outer axes, 2 bit, 64 and 32': {
    key: asymmetric(2, 'tokens', 64),
    value: asymmetric(2, 'channels', 32, four),
  },
  'outer axes, 2 bit, 32 and 128': {
    key: asymmetric(2, 'tokens', 32),
    value: asymmetric(2, 'channels', 128, ragged),
  },
  'outer axes, 8 bit': {
    key: asymmetric(8, 'tokens', 64),
    value: asymmetric(8, 'channels', 64, four),
  },
  'inner axes, 4 bit, scales with a sign': {
    key: symmetric(4, 'fullSigned', 'channels', 32, four),
    value: symmetric(4, 'fullSigned', 'tokens', 32),
  },
  'inner axes, 2 bit': {
    key: symmetric(2, 'full', 'channels', 64, ragged),
    value: symmetric(2, 'signmag', 'tokens', 128),
  },
  'inner axes, 8 bit': {
    key: symmetric(8, 'full', 'channels', 128, ragged),
    value: symmetric(8, 'fullSigned', 'tokens', 64),
  },
  '3 bit along channels and tokens': {
    key: symmetric(3, 'signmag', 'channels', 32, ragged),
    value: asymmetric(3, 'tokens', 32),
  },
  '3 bit the other way': {
    key: symmetric(3, 'fullSigned', 'tokens', 64),
    value: asymmetric(3, 'channels', 64, ragged),
  },
  'head dims of 80 and 96': {
    key: asymmetric(4, 'tokens', 32),
    value: asymmetric(4, 'channels', 48, ragged),
    keyHeadDim: 80,
    valueHeadDim: 96,
  },
  'head dims of 256 and 64, short blocks': {
    key: asymmetric(2, 'tokens', 32),
    value: symmetric(8, 'signmag', 'channels', 64, seven),
    keyHeadDim: 256,
    valueHeadDim: 64,
    blockTokens: 64,
  },
  'levels around zero and over a minimum': {
    key: levelTable(
      4,
      { levels: [-2.5, -1, -0.3, 0, 0.25, 0.9, 2], scaledBy: 'absoluteMaximum' },
      'channels',
      32,
      four,
    ),
    value: {
      ...asymmetric(2, 'tokens', 32),
      quantizer: {
        mode: 'asymmetric',
        codes: { levels: [0, 0.5, 1.25, 3], scaledBy: 'absoluteMaximum' },
      },
    },
  },
  'hybrids along tokens and channels': {
    key: hybrid(4, 'signmag', 3, 'symmetric', 'channels', 64, seven),
    value: hybrid(2, 'full', 2, 'asymmetric', 'tokens', 32),
  },
  'hybrids the other way': {
    key: hybrid(3, 'full', 3, 'symmetric', 'tokens', 64),
    value: hybrid(8, 'signmag', 8, 'symmetric', 'channels', 32, ragged),
  },
  'scaled and centred channels': {
    key: channelScaled(symmetric(4, 'signmag', 'channels', 32, four), 40),
    value: {
      ...asymmetric(4, 'tokens', 32),
      transforms: [{ kind: 'channelMean', scope: 'sequence', statisticsTokens: 24 }],
    },
  },
  'tensors and channels scaled by a calibration': {
    key: {
      ...asymmetric(2, 'tokens', 64),
      transforms: [
        { kind: 'tensorScale', scope: 'model' },
        { kind: 'channelMean', scope: 'model' },
      ],
    },
    value: asymmetric(8, 'channels', 32, ragged),
  },
} satisfies Record<string, TileCase>;

export type TileCaseName = keyof typeof CASES;

export const TILE_CASES = Object.keys(CASES) as TileCaseName[];

export function tilePlan(name: TileCaseName): Plan {
  const {
    keyHeadDim = 128,
    valueHeadDim = 128,
    blockTokens = 128,
    ...parts
  }: TileCase = CASES[name];
  const geometry = { layers: 1, queryHeads: HEADS, kvHeads: HEADS, keyHeadDim, valueHeadDim };
  const scheme = inlineScheme({ ...parts, sinks: 3 });
  const calibration = inlineCalibration(scheme, geometry);
  const plan = createPlan(scheme, geometry, { blockTokens, ...(calibration && { calibration }) });
  for (const layer of plan.layers)
    for (const tensor of [layer.key, layer.value])
      for (const order of ['canonical', codeOrder(layer)] as const)
        if (tileShape(tensor, order) === null) throw new Error(`${name} has no tiles`);
  return plan;
}

/** Returns how many blocks were compared. */
export async function runTileCase(
  device: GPUDevice,
  name: TileCaseName,
  integers: boolean,
): Promise<number> {
  const features = integers ? ['packed_4x8_integer_dot_product'] : [];
  const backend = webgpuBackend({ device, wgslLanguageFeatures: new Set(features) });
  const twin = await createTwin(tilePlan(name), backend);
  const [plan] = twin.plan.layers as [LayerPlan];
  try {
    const [long, short] = [twin.createPair(), twin.createPair()];
    let [blocks, seed] = [0, 100];
    for (const [pair, tokens] of [
      [long, 150],
      [short, 45],
      [long, 1],
      [short, 31],
      [long, 130],
      [short, 77],
      [long, 20],
    ] as const) {
      await twin.append(
        pair,
        edgeRows(seed++, [tokens, HEADS, plan.key.headDim]),
        edgeRows(seed++, [tokens, HEADS, plan.value.headDim]),
      );
      if (tokens !== 130) continue;
      twin.truncate(long, 203);
      blocks += await twin.compareBlocks(long);
    }
    return blocks + (await comparedBlocks(twin, [long, short]));
  } finally {
    twin.dispose();
    backend.dispose();
  }
}

async function comparedBlocks(twin: Twin, pairs: readonly ReturnType<Twin['createPair']>[]) {
  let blocks = 0;
  for (const pair of pairs) blocks += await twin.compareBlocks(pair);
  return blocks;
}

/**
 * f16 bits in patches of 16 tokens by 32 channels of one kind: plain numbers, halves of steps, zeros of both signs, subnormal
 * numbers, one constant, the largest numbers, tiny ranges on large offsets.
 */
function edgeRows(seed: number, shape: readonly [number, number, number]): HostTensor {
  const draw = createDraws(seed);
  const [tokens, heads, dim] = shape;
  const data = new Uint16Array(tokens * heads * dim);
  for (let i = 0; i < data.length; i++) {
    const channel = i % dim;
    const token = Math.floor(i / (dim * heads));
    const kind = (Math.floor(token / 16) + 3 * Math.floor(channel / 32) + seed) % 9;
    const bits = draw();
    const sign = (bits & 1) << 15;
    const mantissa = (bits >>> 1) & 0x3ff;
    const exponent = (bits >>> 11) % 6;
    const kinds = [
      sign | ((12 + exponent) << 10) | mantissa,
      sign | 0x3c00 | (mantissa & 0x3c0),
      sign,
      sign | mantissa,
      0x3e55,
      sign | (mantissa < 0x200 ? 0x7bff : mantissa),
      0x6400 | (mantissa & 7),
      sign | ((24 + exponent) << 10) | mantissa,
      sign | ((1 + (exponent & 1)) << 10) | mantissa,
    ];
    data[i] = kinds[kind] as number;
  }
  return f16Tensor(data, shape);
}
