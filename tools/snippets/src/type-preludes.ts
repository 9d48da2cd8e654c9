/**
 * What TypeScript blocks take as given, declared: every block in TypeScript is here.
 */
export const PRELUDES: Readonly<Record<string, string>> = {
  'README.md#5': `
    declare const k: readonly Uint16Array[], v: readonly Uint16Array[], q: readonly Float32Array[];
  `,
  'packages/cli/README.md#2': '',
  'packages/core/docs/errors.md#1': `
    import { type Cache, LowbitKvError, type Sequence } from '@lowbit-kv/core';
    declare const cache: Cache, oldest: Sequence;
    declare const entries: Parameters<Cache['append']>[0], layers: Parameters<Cache['append']>[1];
  `,
  'packages/core/docs/observing.md#1': `
    import type { Backend, Scheme } from '@lowbit-kv/core';
    declare const schemes: readonly Scheme[], backends: readonly Backend[];
    declare const log: (line: string) => void;
  `,
  'packages/harness/README.md#1': `
    import type { Scheme } from '@lowbit-kv/core';
    declare const schemes: readonly Scheme[];
  `,
  'packages/harness/docs/benchmarks.md#1': `
    import type { Scheme } from '@lowbit-kv/core';
    declare const schemes: readonly Scheme[];
  `,
  'packages/harness/docs/sharding.md#2': `
    import type { EvaluateOptions } from '@lowbit-kv/harness';
    declare const options: EvaluateOptions;
  `,
  'packages/harness/docs/evaluation.md#1': `
    import type { Scheme } from '@lowbit-kv/core';
    import type { EvaluatedModel } from '@lowbit-kv/harness';
    declare const model: EvaluatedModel, schemes: readonly Scheme[];
    declare const name: string, sha256: string, tokens: readonly number[];
  `,
  'packages/model-onnx/README.md#2': '',
};
