import { createTwin } from '../core/src/contract/twin.js';
import { createPlan } from '../core/src/index.js';
import { asymmetric, inlineScheme, symmetric } from '../core/src/testing/inline-schemes.js';
import { webgpuBackend } from './src/index.js';
import { swiftShaderDevice, swiftShaderGpu } from './test/support/swiftshader.js';

const gpu = await swiftShaderGpu();
const device = await swiftShaderDevice();
device.addEventListener('uncapturederror', (e: any) =>
  console.log('GPU', e.error.message.slice(0, 1500)),
);
const w = { recent: 16, flush: 1 };
const cases: [string, any][] = [
  ['kivi4 g128', { key: asymmetric(4, 'tokens', 128), value: asymmetric(4, 'channels', 128, w) }],
  [
    'kivi2 g32',
    {
      key: asymmetric(2, 'tokens', 32),
      value: asymmetric(2, 'channels', 32, w),
      sinks: 3,
      packing: 'after-attention',
    },
  ],
  [
    'innerq4',
    {
      key: symmetric(4, 'fullSigned', 'channels', 32, w),
      value: symmetric(4, 'fullSigned', 'tokens', 32, { recent: 16, flush: 32 }),
      sinks: 5,
    },
  ],
  [
    'mixed',
    {
      key: asymmetric(8, 'channels', 64, w),
      value: asymmetric(2, 'tokens', 64, { recent: 16, flush: 64 }),
    },
  ],
  [
    'rot',
    {
      key: { ...asymmetric(4, 'tokens', 64), transforms: [{ kind: 'hadamard' }] },
      value: {
        ...symmetric(4, 'signmag', 'channels', 32, w),
        transforms: [
          { kind: 'channelMean', scope: 'sequence', statisticsTokens: 32 },
          { kind: 'hadamard' },
        ],
      },
    },
  ],
];
const only = process.argv[2];
for (const precision of ['exact', 'fast'] as const)
  for (const [name, parts] of cases) {
    if (only && !name.includes(only)) continue;
    const plan = createPlan(
      inlineScheme(parts),
      { layers: 1, queryHeads: 6, kvHeads: 2, keyHeadDim: 128, valueHeadDim: 128 },
      { blockTokens: 128 },
    );
    const backend = webgpuBackend({
      device,
      precision,
      wgslLanguageFeatures: gpu.wgslLanguageFeatures as any,
    });
    const big = precision === 'exact' ? 1e-6 : 1;
    const twin = await createTwin(plan, backend, {
      tokens: 2048,
      tolerances: {
        output: { metric: 'nmse', value: big, normalisedBy: 'energy of the expected tensor' },
        logSumExp: {
          metric: 'maximumAbsoluteDifference',
          value: big * 1e4,
          normalisedBy: 'nothing',
        },
      } as any,
    });
    try {
      const [a, b] = [twin.createPair(), twin.createPair()];
      await twin.step([
        { pair: a, tokens: 300 },
        { pair: b, tokens: 7 },
      ]);
      await twin.step([
        { pair: a, tokens: 1 },
        { pair: b, tokens: 150 },
      ]);
      for (const p of [a, b]) await twin.compareBlocks(p);
      await twin.attend([a, b], [1, 1]);
      const f = twin.fork(a);
      twin.truncate(a, 203);
      await twin.step([
        { pair: a, tokens: 70 },
        { pair: b, tokens: 2 },
        { pair: f, tokens: 1 },
      ]);
      for (const p of [a, b, f]) await twin.compareBlocks(p);
      await twin.attend([a, f, b], [1, 2, 1]);
      // magnitude of the error
      const q = new Float32Array(6 * 128).map((_, i) => Math.sin(i * 1.7) * 2);
      const out = async (c: any, s: any) => {
        const r = await c.attend(0, { type: 'f32', shape: [1, 6, 128], data: q }, [s], {
          logSumExp: true,
        });
        const h = await r.read();
        return h.output.data as Float32Array;
      };
      const [x, y] = [
        await out((twin as any).subject, (f as any).subject),
        await out((twin as any).reference, (f as any).reference),
      ];
      let e = 0,
        n = 0;
      for (let i = 0; i < x.length; i++) {
        e += (x[i]! - y[i]!) ** 2;
        n += y[i]! ** 2;
      }
      console.log('ok', precision, name, 'relative L2', Math.sqrt(e / n).toExponential(2));
    } catch (e: any) {
      console.log(
        'FAIL',
        precision,
        name,
        String(e.message).slice(0, 500),
        e.cause?.message?.slice(0, 1500) ?? '',
      );
    }
    twin.dispose();
  }
process.exit(0);
