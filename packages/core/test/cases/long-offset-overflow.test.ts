// Case long-offset-overflow: offsets beyond 2^31 elements and 2^32 bytes, against arithmetic without limits.
import { describe, expect, it } from 'vitest';
import {
  createCache,
  createPlan,
  f16Tensor,
  HostPages,
  type LayerPlan,
  type Plan,
  planBytes,
  referenceBackend,
  WINDOW_PAGE_TOKENS,
} from '../../src/index.js';
import {
  expectedPattern,
  POINTER_FORMAT,
  type PointerFormat,
  pointerKeys,
  pointerValues,
} from '../../src/testing/index.js';
import { scheme } from '../support/schemes.js';
import { loadCase } from '../testing/load-case.js';

interface Corner {
  name: string;
  shape: [number, number, number, number];
  lastElementOffset: string;
  lastByteOffset: string;
}
interface Input {
  pureIndexTest: Corner[];
  thresholds: { H: number; D: number; [key: `first${string}`]: string }[];
  deviceTest: { data: { kBits: number }; T: number };
}
const { input } = loadCase<Input, unknown>('long-offset-overflow');

function planOf(heads: number, dim: number, bits: 4 | 16): Plan {
  return createPlan(scheme({ key: { bits, along: 'vector' }, value: { bits, along: 'vector' } }), {
    layers: 1,
    queryHeads: heads,
    kvHeads: heads,
    keyHeadDim: dim,
    valueHeadDim: dim,
  });
}

/** Where the plan puts a channel of a token: page, then head, then slot. */
function byteOffset<N extends number | bigint>(
  plan: LayerPlan,
  at: { token: N; head: N; channel: N },
  number: (value: number) => N,
): N {
  const { key } = plan;
  const [n, times, plus] = [number, multiply<N>, add<N>];
  if (key.layout === null) {
    const page = divide(at.token, n(WINDOW_PAGE_TOKENS));
    const slot = subtract(at.token, times(page, n(WINDOW_PAGE_TOKENS)));
    const element = plus(
      times(plus(times(at.head, n(WINDOW_PAGE_TOKENS)), slot), n(key.headDim)),
      at.channel,
    );
    return plus(times(page, n(key.windowPageBytes)), times(element, n(2)));
  }
  const { pageBytes, headBytes, codes, bits, blockTokens } = key.layout;
  const page = divide(at.token, n(blockTokens));
  const slot = subtract(at.token, times(page, n(blockTokens)));
  const inHead = plus(times(slot, n(codes.rowBytes)), divide(times(at.channel, n(bits)), n(8)));
  return plus(plus(times(page, n(pageBytes)), times(at.head, n(headBytes))), inHead);
}

const multiply = <N extends number | bigint>(a: N, b: N) => ((a as number) * (b as number)) as N;
const add = <N extends number | bigint>(a: N, b: N) => ((a as number) + (b as number)) as N;
const subtract = <N extends number | bigint>(a: N, b: N) => ((a as number) - (b as number)) as N;
const divide = <N extends number | bigint>(a: N, b: N) =>
  (typeof a === 'bigint' ? a / (b as bigint) : Math.floor((a as number) / (b as number))) as N;

describe.each(input.pureIndexTest)(
  '$name',
  ({ name, shape, lastElementOffset, lastByteOffset }) => {
    const [batch, heads, tokens, dim] = shape;
    const bits = name.startsWith('4-bit') ? 4 : 16;

    it('is the corner that it says', () => {
      const last = BigInt(batch) * BigInt(heads) * BigInt(tokens) * BigInt(dim) - 1n;
      expect(last).toBe(BigInt(lastElementOffset));
      expect(bits === 4 ? last / 2n : last * 2n).toBe(BigInt(lastByteOffset));
    });

    it('has the same offsets in a plan as without limits', () => {
      const plan = planOf(heads, dim, bits);
      const layer = plan.layers[0] as LayerPlan;
      // The pages of all batch entries lie in one pool.
      const total = batch * tokens;
      for (const token of [0, 1, total / 2, total - 2, total - 1].map(Math.floor)) {
        for (const head of new Set([0, heads - 1])) {
          for (const channel of [0, dim - 1]) {
            const exact = byteOffset(
              layer,
              { token: BigInt(token), head: BigInt(head), channel: BigInt(channel) },
              BigInt,
            );
            const used = byteOffset(layer, { token, head, channel }, Number);
            expect(Number.isSafeInteger(used)).toBe(true);
            expect(BigInt(used)).toBe(exact);
          }
        }
      }
      const bytes = planBytes(plan, total);
      expect(Number.isSafeInteger(bytes.total)).toBe(true);
      if (bits === 4) expect(BigInt(bytes.codes)).toBe(BigInt(total * heads) * BigInt(dim));
      else expect(BigInt(bytes.windows)).toBe(BigInt(total * heads) * BigInt(dim) * 4n);
    });
  },
);

it.each(input.thresholds)('the thresholds for $H heads of $D', ({ H, D, ...first }) => {
  const width = BigInt(H) * BigInt(D);
  const reach = (limit: bigint) => (limit + width - 1n) / width;
  expect(BigInt(first['firstTokenWhoseElementOffsetReaches2^31'] as string)).toBe(reach(2n ** 31n));
  expect(BigInt(first['firstTokenWhoseF16ByteOffsetReaches2^32'] as string)).toBe(reach(2n ** 31n));
});

// The small variant: real pages of the reference backend, so far into the pool that 32-bit offsets wrap. The memory in
// front of them is never touched, so it costs address space only.
describe('pages beyond the limits', () => {
  const heads = 8;
  const dim = 128;
  const format: PointerFormat = {
    ...POINTER_FORMAT,
    keyBits: input.deviceTest.data.kBits,
    headStride: 2 ** 22,
  };
  const layer = planOf(heads, dim, 16).layers[0] as LayerPlan;
  const packedLayer = planOf(heads, dim, 4).layers[0] as LayerPlan;

  it('f16 pages around 2^31 elements', () => {
    const perPage = heads * WINDOW_PAGE_TOKENS * dim;
    const boundary = 2 ** 31 / perPage;
    const pages = new HostPages(layer.value, { packed: 0, window: boundary + 2, statistics: 0 });
    expect(pages.allocatedBytes).toBeGreaterThan(2 ** 32);
    const ids = (page: number) =>
      Array.from({ length: WINDOW_PAGE_TOKENS }, (_, i) => page * WINDOW_PAGE_TOKENS + i);
    const used = [0, boundary - 1, boundary, boundary + 1];
    for (const page of used) {
      const input = pointerValues({ tokenIds: ids(page), kvHeads: heads, headDim: dim, format });
      pages.write([{ row: 0, page, slot: 0, count: WINDOW_PAGE_TOKENS }], input);
    }
    for (const page of used) {
      for (const head of [0, heads - 1]) {
        const stored = pages.windowHead(page, head, 31, 1);
        const signs = Array.from(stored, (bits) => ((bits & 0x8000) === 0 ? 1 : -1));
        const id = page * WINDOW_PAGE_TOKENS + 31;
        expect(signs).toEqual([...expectedPattern(id, { kvHead: head, headDim: dim, format })]);
      }
      const bytes = pages.read('window', [page]);
      const gathered = pages.gather(
        [{ source: 'window', page, slot: 0, count: WINDOW_PAGE_TOKENS, position: 0 }],
        new Uint16Array(0),
      );
      expect(bytes.length).toBe(gathered.byteLength);
    }
    const [last] = [boundary + 1];
    pages.copy([{ kind: 'window', from: last, to: 1, count: WINDOW_PAGE_TOKENS }]);
    expect(pages.read('window', [1])).toEqual(pages.read('window', [last]));
    expect(pages.read('window', [2]).every((byte) => byte === 0)).toBe(true);
  });

  it('packed pages around 2^31 bytes', () => {
    const size = packedLayer.key.layout?.pageBytes ?? 0;
    const boundary = Math.floor(2 ** 31 / size);
    const pages = new HostPages(packedLayer.key, {
      packed: boundary + 3,
      window: 0,
      statistics: 0,
    });
    const far = [boundary - 1, boundary, boundary + 2];
    const content = (page: number) =>
      Uint8Array.from({ length: size }, (_, i) => (i * 31 + page) & 255);
    pages.writePages(
      'packed',
      far,
      far.reduce(
        (all, page, i) => {
          all.set(content(page), i * size);
          return all;
        },
        new Uint8Array(far.length * size),
      ),
    );
    for (const page of far) {
      expect(pages.packedPage(page)).toEqual(content(page));
      expect(pages.read('packed', [page])).toEqual(content(page));
    }
    for (const page of [0, 1, 2])
      expect(pages.read('packed', [page]).every((byte) => byte === 0)).toBe(true);
  });

  it('a pool that host memory cannot hold is refused with its size', async () => {
    const plan = planOf(heads, dim, 4);
    const opened = createCache(plan, referenceBackend(), { capacity: { tokens: 2 ** 40 } });
    await expect(opened).rejects.toMatchObject({
      code: 'BACKEND_FAILED',
      valid: expect.stringMatching(/^memory for \d+ bytes$/),
    });
  });

  it('keys of 32 bits tell ids apart beyond 2^21', () => {
    const id = 2 ** 21 + 63;
    const keys = pointerKeys({ tokenIds: [id, 63], kvHeads: 1, headDim: dim, format });
    expect(f16Tensor(keys, [2, 1, dim]).data.slice(0, dim)).not.toEqual(keys.slice(dim));
  });
});
