/**
 * The encode graph of one tensor plan: f16 tokens in, packed codes and parameters out. docs/graphs.md lists its inputs
 * and outputs.
 */
import { OUTLIER_CHUNK, type ParameterName } from '@lowbit-kv/core';
import { hasBands, measuredTransforms, type PackedPlan } from '../packed-plan.js';
import { GraphBuilder, type Value } from './builder.js';
import { bandEdges, quantizeBands } from './encode-bands.js';
import { quantizeGroups } from './encode-groups.js';
import { Operations } from './operations.js';
import { packCodes } from './pack.js';
import { storedOutput } from './parameters.js';
import { takeOutliers } from './top-outliers.js';
import { transformSteps, transformTokens } from './transforms.js';

/** What the tokens come as. f32 values are taken as they are: only f16 values give canonical bytes. */
export type TokenType = 'float16' | 'float32';

export function buildEncodeGraph(
  plan: PackedPlan,
  metadata: Readonly<Record<string, string>>,
  tokenType: TokenType = 'float16',
): Uint8Array {
  const graph = new GraphBuilder(`encode_${plan.tensor}`);
  const o = new Operations(graph);
  const { top } = plan.layout;
  const values = tokenValues(o, plan, tokenType);
  const tokens = top === undefined ? values : takeOutliers(o, plan, top, values);
  if (hasBands(plan)) encodeBands(o, plan, tokens);
  else if (plan.layout.codes.rows === 'channels') encodeAlongTokens(o, plan, tokens);
  else encodeAlongChannels(o, plan, tokens);
  return graph.build(metadata);
}

/** f32 `[tokens, heads, headDim]`, transformed. */
function tokenValues(o: Operations, plan: PackedPlan, type: TokenType): Value {
  const { heads, headDim } = plan;
  const tokens = o.graph.input(
    'tokens',
    type,
    ['tokens', heads, headDim],
    'Tokens to encode, whole groups of them.',
  );
  const planes = measuredTransforms(plan).length;
  const statistics =
    planes === 0
      ? null
      : o.graph.input(
          'statistics',
          'float16',
          [planes, heads, headDim],
          'Statistics of the sequence.',
        );
  return transformTokens(transformSteps(o, plan, statistics), o.cast(tokens, 'float32'));
}

function encodeAlongTokens(o: Operations, plan: PackedPlan, tokens: Value): void {
  const { heads, headDim } = plan;
  const { tokensPerGroup: size, bits } = plan.layout;
  const runs = o.reshape(tokens, [-1, size, heads, headDim]);
  const groups = o.transpose(runs, [2, 0, 3, 1]);
  const quantized = quantizeGroups(o, groups, size, plan.scheme);
  const rows = o.reshape(o.transpose(quantized.codes, [0, 2, 1, 3]), [heads, headDim, -1]);
  const packed = packCodes(o, rows, [heads, headDim], -1, bits);
  o.graph.output('codes', packed, [heads, headDim, 'code_bytes'], 'One row of codes per channel.');
  writeParameters(o, plan, { scale: quantized.scale, zero: quantized.zero });
}

function encodeAlongChannels(o: Operations, plan: PackedPlan, tokens: Value): void {
  const { heads, headDim } = plan;
  const { channelsPerGroup: size, bits } = plan.layout;
  const byHead = o.transpose(tokens, [1, 0, 2]);
  const groups = o.reshape(byHead, [heads, -1, headDim / size, size]);
  const quantized = quantizeGroups(o, groups, size, plan.scheme);
  const rows = o.reshape(quantized.codes, [heads, -1, headDim]);
  writeTokenRows(o, rows, heads, headDim, bits);
  writeParameters(o, plan, { scale: quantized.scale, zero: quantized.zero });
}

function encodeBands(o: Operations, plan: PackedPlan, tokens: Value): void {
  const { heads, headDim } = plan;
  const { layout, scheme } = plan;
  const thresholds = o.graph.input(
    'thresholds',
    'float32',
    [4],
    'Band edges: outerLow, outerHigh, innerLow, innerHigh.',
  );
  const byHead = o.transpose(tokens, [1, 0, 2]);
  const quantized = quantizeBands(
    o,
    byHead,
    bandEdges(o, thresholds),
    scheme.quantizer.codes === 'midRise' ? 'midRise' : 'uniform',
    layout.parametersShared ? [0, 2] : [2],
  );
  writeTokenRows(o, quantized.nibbles, heads, headDim, layout.bits);
  writeParameters(o, plan, quantized.parameters);

  const outlier = o.or(quantized.isOuter, quantized.isInner);
  const index = o.graph.constant(
    'int32',
    Array.from({ length: headDim }, (_, channel) => channel % OUTLIER_CHUNK),
  );
  const flags = o.add(
    o.multiply(o.cast(quantized.isOuter, 'int32'), 64),
    o.multiply(quantized.fifthBits, 128),
  );
  const bytes = o.cast(o.add(flags, index), 'uint8');
  // Without an axis Compress reads row-major: head by head, token by token, channels rising.
  const entries = o.graph.node('Compress', 'uint8', [bytes, outlier]);
  const chunks = Math.ceil(headDim / OUTLIER_CHUNK);
  const marked = o.padEnd(o.cast(outlier, 'int32'), 3, 2, chunks * OUTLIER_CHUNK - headDim);
  const counts = o.reduceSum(o.reshape(marked, [heads, -1, chunks, OUTLIER_CHUNK]), [3], false);
  o.graph.output(
    'outlier_entries',
    entries,
    ['outliers'],
    'One byte per outlier, heads one after another.',
  );
  o.graph.output(
    'outlier_counts',
    counts,
    [heads, 'tokens', chunks],
    'Outliers of each token in each chunk of 64 channels.',
  );
}

function writeTokenRows(
  o: Operations,
  codes: Value,
  heads: number,
  headDim: number,
  bits: number,
): void {
  const packed = packCodes(o, codes, [heads, -1], headDim, bits);
  const bytes = Math.ceil((headDim * bits) / 8);
  o.graph.output('codes', packed, [heads, 'tokens', bytes], 'One row of codes per token.');
}

/** Outputs each parameter plane `[vectors, entries]` in its order. */
function writeParameters(
  o: Operations,
  { layout, heads }: PackedPlan,
  parameters: Readonly<Partial<Record<ParameterName, Value | null>>>,
): void {
  const vectors = layout.parametersShared ? 1 : heads;
  for (const { name, type } of layout.parameters) {
    const value = parameters[name];
    if (value === null || value === undefined) throw new TypeError(`no ${name} was computed`);
    const stored = storedOutput(o, type, o.reshape(value, [vectors, -1]));
    o.graph.output(name, stored, [vectors, 'entries'], 'Parameters in the order of their plane.');
  }
}
