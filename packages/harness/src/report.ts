/**
 * The comparison report: its schema is the one source of the types, of validation and of the JSON Schema.
 *
 * Figures that are not finite are `null`. Layers are numbered as in the model, heads from 0. NMSE is
 * `sum (x - exact)^2 / sum exact^2`. Nothing in a report depends on time or machine, only on its inputs.
 */
import * as z from 'zod';

export const count = z.int().min(0);
export const figure = z.number().min(0).nullable();

/** `unmeasured`: nothing was quantized at this length. `invalid`: a self-check failed, the figures mean nothing. */
export const VERDICT_LEVELS = [
  'baseline',
  'safe',
  'care',
  'unsafe',
  'unmeasured',
  'refused',
  'invalid',
] as const;

export const verdict = z.strictObject({
  level: z.literal(VERDICT_LEVELS),
  reason: z.string().min(1),
});

export const check = z.strictObject({
  name: z.string(),
  /** `skipped`: cannot be asked of this capture; the detail says why. */
  result: z.literal(['passed', 'failed', 'skipped']),
  detail: z.string(),
});

const thresholds = z.strictObject({
  safeWorstHead: z.number(),
  safeWorstLayer: z.number(),
  careWorstHead: z.number(),
  careWorstLayer: z.number(),
  exactOutput: z.number(),
  cacheAgreement: z.number(),
  swappedOutput: z.number(),
});

const layerData = z.strictObject({
  layer: count,
  keyRootMeanSquare: figure,
  valueRootMeanSquare: figure,
  /** Per kv head: the largest magnitude of the largest channel over that of the median channel. */
  keyChannelOutliers: z.array(figure),
  valueChannelOutliers: z.array(figure),
});

const capture = z.strictObject({
  file: z.string(),
  /** SHA-256 over keys, values and queries as they were read. */
  sha256: z.string(),
  provenance: z.record(z.string(), z.string()),
  layers: z.array(count),
  /** Layers of the whole model, or null when unknown; memory is then that of the captured layers. */
  modelLayers: count.nullable(),
  queryHeads: count,
  kvHeads: count,
  keyHeadDim: count,
  valueHeadDim: count,
  tokens: count,
  queries: count,
  scale: z.number(),
  data: z.array(layerData).min(1),
});

const replay = z.strictObject({
  /** Tokens appended in one step before the first captured query; packed as a prompt is. */
  prefillTokens: count,
  /** Steps of one token each. */
  decodeSteps: count,
  /** Steps that attend, evenly spaced, the last among them. */
  attendedPositions: count,
  description: z.string(),
});

/** Bits per cached element of the whole cache (keys and values, all captured layers) after the last step. */
const bits = z.strictObject({
  /** All parts and `unused`: the pages in use. */
  total: z.number(),
  /** The parts that hold data. */
  used: z.number(),
  /**
   * Mean of `used` over the steps that attend: what the errors were had for. More than `used` where tokens wait to be packed
   * together and the last step happens to pack them. Of outliers the number after the last step is taken.
   */
  attended: z.number(),
  codes: z.number(),
  parameters: z.number(),
  outliers: z.number(),
  windows: z.number(),
  statistics: z.number(),
  /** Padding, empty slots and room reserved for outliers in pages in use. */
  unused: z.number(),
  /** Bits per packed element, without windows: what a long context tends to. Null when nothing is packed. */
  packed: z
    .strictObject({
      total: z.number(),
      codes: z.number(),
      parameters: z.number(),
      outliers: z.number(),
    })
    .nullable(),
});

const held = z.strictObject({
  tensor: z.literal(['key', 'value']),
  layers: z.array(count),
  sinks: count,
  packed: count,
  tail: count,
});

const layerPlace = z.strictObject({ layer: count, nmse: figure });
const headPlace = z.strictObject({ layer: count, head: count, nmse: figure });
const layerErrors = z.array(z.strictObject({ layer: count, nmse: figure, heads: z.array(figure) }));

/** Of keys or values as they are stored, all tokens after the last step. Heads are kv heads. */
const tensorError = z.strictObject({
  /** Mean over layers. */
  nmse: figure,
  /** Packed tokens only; null also when nothing is packed. */
  packedNmse: figure,
  worstLayer: layerPlace,
  worstHead: headPlace,
  layers: layerErrors,
});

const simulatedError = tensorError.omit({ packedNmse: true });

const rowPlace = z.strictObject({ layer: count, head: count, position: count, value: figure });

/** Of attention outputs. Heads are query heads. */
const outputError = z.strictObject({
  /** Mean over layers. */
  nmse: figure,
  worstLayer: layerPlace,
  worstHead: headPlace,
  /** The query row with the largest NMSE of its own; informs only. */
  worstRow: rowPlace,
  maxAbsError: rowPlace,
  /** |log-sum-exp - exact| in nats: how far the keys alone move the attention weights. */
  logSumExp: z.strictObject({ mean: figure, max: figure }),
  layers: layerErrors,
});

/** What the worst head's error comes from: attention in float64 with only one tensor as the cache holds it. */
const cause = z.strictObject({
  layer: count,
  head: count,
  keysOnly: figure,
  valuesOnly: figure,
});

export const memory = z.strictObject({
  tokens: count,
  bytes: count,
  f16Bytes: count,
  /** f16Bytes / bytes. */
  ratio: z.number(),
});

const calibration = z.strictObject({
  source: z.literal(['given', 'held-out', 'capture']),
  description: z.string(),
});

const identity = { id: z.string(), title: z.string(), fingerprint: z.string() };

const measured = z.strictObject({
  status: z.literal('measured'),
  ...identity,
  bits,
  held: z.array(held),
  /** Bytes of packed blocks that were read back from the cache. */
  packedBytes: count,
  key: tensorError,
  value: tensorError,
  output: outputError,
  cause: cause.nullable(),
  memory: z.array(memory),
  calibration: calibration.nullable(),
  /** Why the backend only emulates the scheme; empty when its own kernels ran it. */
  emulated: z.array(z.string()),
  checks: z.array(check),
  verdict,
});

/** Published code that is no storage format: attention in float64 over the keys and values it gives, and no bytes. */
const simulated = z.strictObject({
  status: z.literal('simulated'),
  id: z.string(),
  title: z.string(),
  references: z.array(z.string()),
  /** Tokens after the last step, by how the original holds them; the same in every layer. */
  held: z.array(
    z.strictObject({
      tensor: z.literal(['key', 'value']),
      sinks: count,
      quantized: count,
      recent: count,
    }),
  ),
  key: simulatedError,
  value: simulatedError,
  output: outputError,
  calibration: calibration.nullable(),
  verdict,
});

/** `refused`: cannot be planned or executed for this geometry. `failed`: could not store this capture. */
export const unmeasurable = z.strictObject({
  status: z.literal(['refused', 'failed']),
  ...identity,
  /** Null for a simulation, which has none. */
  fingerprint: z.string().nullable(),
  code: z.string(),
  reason: z.string(),
  verdict,
});

const row = z.discriminatedUnion('status', [measured, simulated, unmeasurable]);

/** The zod schema of a report. */
export const compareReportSchema = z.strictObject({
  reportVersion: z.literal(1),
  capture,
  backend: z.strictObject({ id: z.string(), device: z.string() }),
  reference: z.string(),
  replay,
  thresholds,
  /** Self-checks of the whole run; a failed one of them is thrown, so these passed or were skipped. */
  checks: z.array(check),
  /** False when a self-check of a row failed. */
  valid: z.boolean(),
  /** f16 first, then the schemes in the order they were given, then the simulations. */
  schemes: z.array(row),
  /** Ids of the schemes that no other beats in both `bits.attended` and `output.nmse`, by rising bits. */
  paretoFront: z.array(z.string()),
});

export type CompareReport = z.infer<typeof compareReportSchema>;
export type SchemeRow = CompareReport['schemes'][number];
export type MeasuredRow = z.infer<typeof measured>;
export type SimulatedRow = z.infer<typeof simulated>;
export type UnmeasuredRow = z.infer<typeof unmeasurable>;
export type Verdict = z.infer<typeof verdict>;
export type VerdictLevel = Verdict['level'];
export type ReportCheck = z.infer<typeof check>;
export type LayerData = z.infer<typeof layerData>;
export type OutputError = z.infer<typeof outputError>;
export type TensorError = z.infer<typeof tensorError>;
export type ErrorCause = z.infer<typeof cause>;
export type MemoryFigure = z.infer<typeof memory>;
export type BitFigures = z.infer<typeof bits>;
export type CalibrationNote = z.infer<typeof calibration>;
export type VerdictThresholds = z.infer<typeof thresholds>;

/** JSON Schema (draft 2020-12) of a report. */
export function compareReportJsonSchema(): Record<string, unknown> {
  return z.toJSONSchema(compareReportSchema) as Record<string, unknown>;
}

/** A figure as reports hold it: null when it is not finite. */
export function finiteOrNull(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
