/**
 * The worked examples of docs/block-format.md: layouts drawn from the planner, bytes made by the reference quantizer.
 */
import { encodeF16 } from '../src/float16.js';
import {
  type BlockLayout,
  encodeTokens,
  type PackedTensorPlan,
  type QuantizedTensorScheme,
  type TensorCalibration,
} from '../src/index.js';
import { layoutBlock, PARAMETER_BYTES } from '../src/plan/layout.js';
import { E2M1_LEVELS } from '../src/testing/index.js';
import { hex, hexBytes, markdownTable } from './generated-parts.js';

interface Shape {
  readonly heads: number;
  readonly headDim: number;
  readonly blockTokens: number;
}

const COMMON = { window: { recent: 0, flush: 1 } } as const;
const AFFINE = {
  quantizer: { mode: 'asymmetric', codes: 'uniform' },
  parameters: { scale: 'f16', zero: 'f16' },
} as const;
const SIGNMAG = {
  quantizer: { mode: 'symmetric', codes: 'signmag' },
  parameters: { scale: 'f16' },
} as const;

const TOP = {
  outliers: { kind: 'top', count: 1, storage: { format: 'list' } },
} as const;

function bandsScheme(scope: 'head' | 'allHeads', middle: 'midRise' | 'uniform') {
  const scheme: QuantizedTensorScheme = {
    ...COMMON,
    bits: 4,
    groups: { along: 'vector', scope },
    ...(middle === 'midRise'
      ? {
          quantizer: { mode: 'symmetric', codes: 'midRise' },
          parameters: { scale: 'f16' },
        }
      : AFFINE),
    outliers: {
      kind: 'bands',
      shares: { outer: 0.04, middle: 0.9, inner: 0.06 },
      groupShift: true,
      outlierBits: 5,
      storage: { format: 'coo64', reserve: 20 },
    },
  };
  return scheme;
}

const LAYOUTS: readonly { name: string; scheme: QuantizedTensorScheme; shape: Shape }[] = [
  {
    name: 'affine-2bit-tokens',
    scheme: { ...COMMON, bits: 2, groups: { along: 'tokens', size: 32 }, ...AFFINE },
    shape: { heads: 2, headDim: 64, blockTokens: 128 },
  },
  {
    name: 'affine-4bit-channels',
    scheme: { ...COMMON, bits: 4, groups: { along: 'channels', size: 32 }, ...AFFINE },
    shape: { heads: 2, headDim: 64, blockTokens: 128 },
  },
  {
    name: 'symmetric-3bit-channels',
    scheme: { ...COMMON, bits: 3, groups: { along: 'channels', size: 20 }, ...SIGNMAG },
    shape: { heads: 1, headDim: 80, blockTokens: 32 },
  },
  {
    name: 'hybrid-2bit-tokens',
    scheme: {
      ...COMMON,
      bits: 2,
      groups: { along: 'tokens', size: 32 },
      quantizer: { mode: 'hybrid', codes: 'full', asymmetricBits: 2, norm: 'l1', tie: 'symmetric' },
      parameters: { scale: 'f16', zero: 'f16' },
    },
    shape: { heads: 1, headDim: 64, blockTokens: 64 },
  },
  {
    name: 'e2m1-channels',
    scheme: {
      ...COMMON,
      bits: 4,
      groups: { along: 'channels', size: 16 },
      quantizer: {
        mode: 'symmetric',
        codes: { levels: E2M1_LEVELS, scaledBy: 'absoluteMaximum' },
      },
      parameters: { scale: 'e4m3' },
    },
    shape: { heads: 2, headDim: 64, blockTokens: 128 },
  },
  {
    name: 'top-outliers',
    scheme: { ...COMMON, bits: 2, groups: { along: 'tokens', size: 32 }, ...AFFINE, ...TOP },
    shape: { heads: 1, headDim: 64, blockTokens: 128 },
  },
  {
    name: 'codec-channels',
    scheme: {
      ...COMMON,
      bits: 2,
      groups: { along: 'channels', size: 32 },
      quantizer: { mode: 'codec', codes: 'five-per-byte', version: 1, groupBytes: 9 },
      parameters: {},
    },
    shape: { heads: 1, headDim: 96, blockTokens: 128 },
  },
  {
    name: 'bands-head',
    scheme: bandsScheme('head', 'midRise'),
    shape: { heads: 2, headDim: 80, blockTokens: 128 },
  },
  {
    name: 'bands-all-heads',
    scheme: bandsScheme('allHeads', 'uniform'),
    shape: { heads: 2, headDim: 64, blockTokens: 128 },
  },
];

interface Part {
  readonly name: string;
  readonly offset: number;
  readonly bytes: number;
  readonly content: string;
}

/** Parts of a page in rising order, padding included. */
function partsOf(layout: BlockLayout): Part[] {
  const parts: Part[] = [];
  const add = (name: string, offset: number, bytes: number, content: string) =>
    parts.push({ name, offset, bytes, content });
  const parameters = (owner: string, base: number) => {
    for (const { name, type, offset, count } of layout.parameters)
      add(`${owner}${name}`, base + offset, count * PARAMETER_BYTES[type], `${count} x ${type}`);
  };
  for (let head = 0; head < layout.heads; head++) {
    const base = head * layout.headBytes;
    const owner = `head ${head}: `;
    const { rows, rowCount, rowBytes } = layout.codes;
    const what = `${rowCount} rows (${rows}) x ${rowBytes} bytes`;
    add(`${owner}codes`, base, rowCount * rowBytes, what);
    if (!layout.parametersShared) parameters(owner, base);
    if (layout.sparse !== null) {
      const { endOffsets, entries } = layout.sparse;
      const count = layout.blockTokens * endOffsets.chunks;
      const type = endOffsets.entryBytes === 2 ? 'u16' : 'u32';
      const offset = base + endOffsets.offset;
      add(`${owner}end offsets`, offset, count * endOffsets.entryBytes, `${count} x ${type}`);
      const room = `room for ${entries.capacity} x u8`;
      add(`${owner}outliers`, base + entries.offset, entries.capacity, room);
    }
    if (layout.top !== undefined) {
      const { count, values, channels } = layout.top;
      const entries = layout.blockTokens * count;
      const bytes = entries * channels.entryBytes;
      const type = channels.entryBytes === 1 ? 'u8' : 'u16';
      add(`${owner}outlier values`, base + values.offset, 2 * entries, `${entries} x f16`);
      add(`${owner}outlier channels`, base + channels.offset, bytes, `${entries} x ${type}`);
    }
  }
  if (layout.parametersShared) parameters('all heads: ', layout.heads * layout.headBytes);
  const padded: Part[] = [];
  let at = 0;
  const pad = (end: number) => {
    if (end > at)
      padded.push({ name: '(padding)', offset: at, bytes: end - at, content: 'zero bytes' });
  };
  for (const part of parts) {
    pad(part.offset);
    padded.push(part);
    at = part.offset + part.bytes;
  }
  pad(layout.pageBytes);
  return padded;
}

function drawPage(layout: BlockLayout): string {
  const digits = layout.pageBytes.toString(16).length;
  const line = (offset: number) => `${hex(offset, digits)} +${'-'.repeat(30)}+`;
  const lines = partsOf(layout).flatMap(({ name, offset, bytes, content }) => [
    line(offset),
    `${' '.repeat(digits + 2)} | ${name.padEnd(28)} | ${bytes} bytes: ${content}`,
  ]);
  return `\`\`\`text\n${lines.join('\n')}\n${line(layout.pageBytes)}\n\`\`\``;
}

function layoutSection(scheme: QuantizedTensorScheme, shape: Shape): string {
  const layout = layoutBlock(scheme, { ...shape, tensor: 'key' });
  const bits = (layout.pageBytes * 8) / (shape.heads * shape.blockTokens * shape.headDim);
  const facts = [
    ['heads x tokens x channels', `${shape.heads} x ${shape.blockTokens} x ${shape.headDim}`],
    [
      'tokens, channels that share parameters',
      `${layout.tokensPerGroup}, ${layout.channelsPerGroup}`,
    ],
    ['head block', `${layout.headBytes} bytes`],
    ['shared plane', `${layout.sharedBytes} bytes`],
    ['page', `${layout.pageBytes} bytes, ${Number(bits.toFixed(4))} bits per element when full`],
  ];
  return `${markdownTable(['what', 'size'], facts)}\n\n${drawPage(layout)}`;
}

/** Packs f16-rounded values, `[tokens, heads, headDim]`, into a fresh page. */
function pack(
  scheme: QuantizedTensorScheme,
  shape: Shape,
  values: readonly number[],
  thresholds?: TensorCalibration['thresholds'],
): { layout: BlockLayout; page: Uint8Array } {
  const layout = layoutBlock(scheme, { ...shape, tensor: 'key' });
  const plan: PackedTensorPlan = {
    tensor: 'key',
    heads: shape.heads,
    headDim: shape.headDim,
    class: 0,
    scheme,
    layout,
    calibration: thresholds === undefined ? null : { thresholds },
    windowPageBytes: 0,
    statisticsPageBytes: 0,
  };
  const page = new Uint8Array(layout.pageBytes);
  const tokens = values.length / (shape.heads * shape.headDim);
  encodeTokens(plan, encodeF16(Float32Array.from(values)), tokens, null, page, 0);
  return { layout, page };
}

/** One row per part of the page that is not padding: its bytes, zero tails shortened. */
function byteTable(layout: BlockLayout, page: Uint8Array): string {
  const rows = partsOf(layout)
    .filter(({ name }) => name !== '(padding)')
    .map(({ name, offset, bytes }) => {
      let used = bytes;
      while (used > 0 && page[offset + used - 1] === 0) used--;
      const shown = hexBytes(page.subarray(offset, offset + used));
      const rest = bytes - used;
      const tail = rest === 0 ? '' : `${used === 0 ? '' : ', then '}${rest} zero bytes`;
      return [name, hex(offset, 2), `${shown === '' ? '' : `\`${shown}\``}${tail}`];
    });
  return markdownTable(['part', 'offset', 'bytes'], rows);
}

function exampleAlongTokens(): string {
  // One channel over eight tokens, and a constant second channel.
  const values = [-1, -0.5, 0.2, 0.5, -1, -0.5, 0.2, 0.5].flatMap((x) => [x, 0.25]);
  const { layout, page } = pack(
    { ...COMMON, bits: 2, groups: { along: 'tokens', size: 8 }, ...AFFINE },
    { heads: 1, headDim: 2, blockTokens: 16 },
    values,
  );
  return byteTable(layout, page);
}

function exampleThreeBits(): string {
  const { layout, page } = pack(
    { ...COMMON, bits: 3, groups: { along: 'channels', size: 8 }, ...SIGNMAG },
    { heads: 1, headDim: 8, blockTokens: 2 },
    [-2, -1, -0.4, 0.1, 0.6, 1.2, 1.9, 3],
  );
  return byteTable(layout, page);
}

function exampleTop(): string {
  const { layout, page } = pack(
    { ...COMMON, bits: 3, groups: { along: 'channels', size: 8 }, ...SIGNMAG, ...TOP },
    { heads: 1, headDim: 8, blockTokens: 2 },
    [-2, -1, -0.4, 0.1, 24, 1.2, 1.9, 3],
  );
  return byteTable(layout, page);
}

function exampleBands(): string {
  const { layout, page } = pack(
    bandsScheme('head', 'midRise'),
    { heads: 1, headDim: 9, blockTokens: 2 },
    [0.05, -0.02, 0.5, -0.7, 1.9, 2.5, -3, 1.2, -0.11],
    { outerLow: -2, outerHigh: 2, innerLow: -0.0999755859375, innerHigh: 0.0999755859375 },
  );
  return byteTable(layout, page);
}

/** Generated parts of docs/block-format.md, apart from the snapshot. */
export function blockParts(): Map<string, string> {
  const parts = new Map<string, string>();
  for (const { name, scheme, shape } of LAYOUTS) parts.set(name, layoutSection(scheme, shape));
  parts.set('bytes-along-tokens', exampleAlongTokens());
  parts.set('bytes-3bit', exampleThreeBits());
  parts.set('bytes-top', exampleTop());
  parts.set('bytes-bands', exampleBands());
  return parts;
}
