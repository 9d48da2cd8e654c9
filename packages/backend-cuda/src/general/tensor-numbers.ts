/**
 * A tensor plan as the numbers of kernels/general-tensor.cuh.
 */
import {
  type BlockLayout,
  type LevelTable,
  LowbitKvError,
  type ParameterName,
  type ParameterType,
  type QuantizedTensorScheme,
  type RotaryEmbedding,
  type TensorPlan,
  transformsOf,
} from '@lowbit-kv/core';
import {
  GENERAL_CODES,
  GENERAL_MODES,
  GENERAL_TENSOR,
  LEVEL_SCALES,
  OUTLIER_ORDERS,
  STORED_TYPES,
} from './structs.js';
import { TableWriter } from './table-writer.js';
import { writeTransforms } from './transform-numbers.js';

/** Offsets in a page are 32-bit numbers, of which kernels add up two. */
const LARGEST_PAGE = 2 ** 31;

type Field = keyof typeof GENERAL_TENSOR.fields;
type Numbers = Partial<Record<Field, number>>;

/** Fields that are f32. */
const FLOATS: ReadonlySet<Field> = new Set<Field>([
  'rangeStep',
  'extentStep',
  'outerLow',
  'innerLow',
  'innerHigh',
  'outerHigh',
  'rotationFactor',
]);

export interface TensorNumbers {
  /** What `table` of the struct points at: at least one word. */
  readonly table: Uint32Array<ArrayBuffer>;
  /** Writes the struct at byte `at`; `table` is the address of the table in device memory, a multiple of 16. */
  write(view: DataView, at: number, table: bigint): void;
}

export interface TensorTraits {
  /** Of keys that are held before it. */
  readonly rotary?: RotaryEmbedding | null;
  /** Number of its codec among those of the kernels; 0, the default, where it has none. */
  readonly codec?: number;
  /** Whether outliers of bands are words, see pages/outlier-words.ts. Default false. */
  readonly hasOutlierWords?: boolean;
}

/** Throws PLAN_REFUSED for pages that kernels cannot count. */
export function tensorNumbers(
  plan: TensorPlan,
  { rotary = null, codec = 0, hasOutlierWords = false }: TensorTraits = {},
): TensorNumbers {
  const { layout, scheme, heads, headDim } = plan;
  const table = new TableWriter(transformsOf(plan).length);
  const numbers: Numbers = {
    heads,
    headDim,
    bits: scheme.bits,
    rotationFactor: 1 / Math.sqrt(headDim),
    codec,
    outlierOrder: hasOutlierWords ? OUTLIER_ORDERS.indexOf(plan.tensor) : 0,
    ...rotaryNumbers(rotary, table),
  };
  if (layout !== null && scheme.bits !== 16) {
    checkPlan(plan, scheme, layout);
    writeTransforms(plan, table);
    Object.assign(
      numbers,
      layoutNumbers(layout),
      parameterNumbers(scheme, layout),
      quantizerNumbers(scheme, table),
      outlierNumbers(plan, layout),
      { transformCount: transformsOf(plan).length },
    );
  }
  return {
    table: table.words(),
    write: (view, at, pointer) => writeStruct(view, at, numbers, pointer),
  };
}

function writeStruct(view: DataView, at: number, numbers: Numbers, table: bigint): void {
  for (const [field, offset] of Object.entries(GENERAL_TENSOR.fields) as [Field, number][]) {
    const value = numbers[field] ?? 0;
    if (field === 'table') view.setBigUint64(at + offset, table, true);
    else if (FLOATS.has(field)) view.setFloat32(at + offset, value, true);
    else view.setUint32(at + offset, value, true);
  }
}

function checkPlan(
  { tensor }: TensorPlan,
  { outliers }: QuantizedTensorScheme,
  layout: BlockLayout,
): void {
  const refuse = (message: string, value: unknown, valid: string): never => {
    throw new LowbitKvError('PLAN_REFUSED', {
      message,
      value,
      valid,
      next: 'Use another scheme, or a backend that runs this one.',
      where: { tensor },
    });
  };
  if (layout.codes.rows === 'channels' && layout.tokensPerGroup % 8 !== 0)
    refuse('groups along tokens end inside of a byte', layout.tokensPerGroup, 'multiples of 8');
  if (outliers?.kind === 'bands' && !outliers.groupShift)
    refuse('general kernels do not run bands without group shift', false, 'group shift');
  if (layout.pageBytes >= LARGEST_PAGE)
    refuse('a page is too large for the kernels', layout.pageBytes, `less than ${LARGEST_PAGE}`);
}

function layoutNumbers(layout: BlockLayout): Numbers {
  return {
    blockTokens: layout.blockTokens,
    pageBytes: layout.pageBytes,
    headBytes: layout.headBytes,
    rowBytes: layout.codes.rowBytes,
    rowsAreChannels: layout.codes.rows !== 'tokens' && layout.channelsPerGroup === 1 ? 1 : 0,
    tokensPerGroup: layout.tokensPerGroup,
    channelsPerGroup: layout.channelsPerGroup,
    parametersShared: layout.parametersShared ? 1 : 0,
  };
}

function planeOf(layout: BlockLayout, name: ParameterName): number | undefined {
  return layout.parameters.find((plane) => plane.name === name)?.offset;
}

function parameterNumbers({ parameters }: QuantizedTensorScheme, layout: BlockLayout): Numbers {
  const scale = planeOf(layout, 'scale');
  const zero = planeOf(layout, 'zero');
  const numberOf = (type: ParameterType | undefined) => STORED_TYPES.indexOf(type ?? 'f16');
  return {
    scaleType: scale === undefined ? 0 : numberOf(parameters.scale),
    zeroType: zero === undefined ? 0 : numberOf(parameters.zero),
    scaleOffset: scale ?? 0,
    zeroOffset: zero ?? 0,
  };
}

function quantizerNumbers(scheme: QuantizedTensorScheme, table: TableWriter): Numbers {
  const { bits, quantizer, outliers } = scheme;
  const mode = (name: (typeof GENERAL_MODES)[number]) => GENERAL_MODES.indexOf(name);
  if (outliers?.kind === 'bands') return { mode: mode('bands') };
  if (quantizer.mode === 'codec') return { mode: mode('codec') };
  const { codes } = quantizer;
  if (typeof codes === 'object')
    return {
      mode: mode(quantizer.mode === 'asymmetric' ? 'levelsOverZero' : 'levels'),
      ...levelNumbers(codes, table),
    };
  const hybrid = quantizer.mode === 'hybrid';
  const half = 2 ** (bits - 1);
  const largestCode = 2 ** (hybrid ? quantizer.asymmetricBits : bits) - 1;
  const top = codes === 'signmag' ? half - 1 : half;
  return {
    mode: mode(quantizer.mode as 'asymmetric' | 'symmetric' | 'hybrid'),
    codes: Math.max(0, GENERAL_CODES.indexOf(codes as (typeof GENERAL_CODES)[number])),
    largestCode,
    tieAsymmetric: hybrid && quantizer.tie === 'asymmetric' ? 1 : 0,
    rangeStep: 1 / largestCode,
    extentStep: 1 / top,
    topExponent: exponentOf(top),
  };
}

function levelNumbers(table: LevelTable, writer: TableWriter): Numbers {
  // A plan holds calibrated tables resolved.
  const levels = Float32Array.from(table.levels as readonly number[]);
  const middles = levels.subarray(1).map((level, i) => ((levels[i] as number) + level) / 2);
  const last = levels.at(-1) as number;
  const top = Math.max(-(levels[0] as number), last);
  return {
    levelScale: LEVEL_SCALES.indexOf(table.scaledBy),
    levelCount: levels.length,
    levels: writer.put(levels),
    middles: writer.put(middles),
    rangeStep: 1 / last,
    extentStep: 1 / top,
    topExponent: exponentOf(top),
  };
}

/** floor(log2 value) of the f32 nearest to a positive number. */
function exponentOf(value: number): number {
  const bits = new Uint32Array(Float32Array.of(value).buffer)[0] as number;
  return bits >>> 23 === 0 ? -118 - Math.clz32(bits) : (bits >>> 23) - 127;
}

function outlierNumbers({ calibration, scheme }: TensorPlan, layout: BlockLayout): Numbers {
  const { sparse, top } = layout;
  if (top !== undefined) {
    return {
      topCount: top.count,
      topValuesOffset: top.values.offset,
      topChannelsOffset: top.channels.offset,
      topChannelBytes: top.channels.entryBytes,
    };
  }
  const edges = calibration?.thresholds;
  if (sparse === null || edges === undefined || scheme.bits === 16) return {};
  const plane = (name: ParameterName) => planeOf(layout, name) ?? 0;
  const midRise = scheme.quantizer.codes === 'midRise';
  return {
    midRise: midRise ? 1 : 0,
    middleOffset: plane(midRise ? 'middleMaximum' : 'middleMinimum'),
    middleStepOffset: plane('middleStep'),
    outerMinimumOffset: plane('outerMinimum'),
    outerStepOffset: plane('outerStep'),
    innerMinimumOffset: plane('innerMinimum'),
    innerStepOffset: plane('innerStep'),
    ...edges,
    endsOffset: sparse.endOffsets.offset,
    endBytes: sparse.endOffsets.entryBytes,
    chunks: sparse.endOffsets.chunks,
    outliersOffset: sparse.entries.offset,
    capacity: sparse.entries.capacity,
  };
}

/** Turns per position in units of 2^-64, whole turns left out: low word, high word. */
function rotaryNumbers(rotary: RotaryEmbedding | null, table: TableWriter): Numbers {
  if (rotary === null) return {};
  const words = rotary.frequencies.flatMap((frequency) => {
    const turns = frequency / (2 * Math.PI);
    const high = (turns - Math.floor(turns)) * 2 ** 32;
    return [(high - Math.floor(high)) * 2 ** 32, Math.floor(high)];
  });
  return {
    rotaryPairs: rotary.frequencies.length,
    rotaryAdjacent: rotary.pairs === 'adjacent' ? 1 : 0,
    frequencies: table.put(Uint32Array.from(words)),
  };
}
