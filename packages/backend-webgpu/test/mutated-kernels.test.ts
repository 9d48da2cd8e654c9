// Kernels with one fault each fail a check of the contract: the device is given a changed shader text.
import { backendChecks } from '@lowbit-kv/core/contract';
import { expect, test } from 'vitest';
import { webgpuBackend } from '../src/index.js';
import { failureOf, type ShaderFault } from './support/faulty-device.js';
import { F32_ATTENTION } from './support/tolerances.js';

interface Fault extends ShaderFault {
  /** Beginning of the name of the check that must fail. */
  readonly check: string;
  readonly message: RegExp;
}

const FAULTS: Readonly<Record<string, Fault>> = {
  'zero output': {
    kernel: 'merge',
    from: 'select(0.0, value / sums.x, seen)',
    to: 'select(0.0, value / sums.x, seen) * 0.0',
    check: 'plan: nothing packed',
    message: /output: nmse 1 /,
  },
  'swapped heads of keys': {
    kernel: 'attend',
    from: 'segment.key_page, head,',
    to: 'segment.key_page, head ^ 1u,',
    check: 'plan: sinks, windows',
    message: /nmse/,
  },
  'swapped heads of values': {
    kernel: 'attend',
    from: 'segment.value_page, head,',
    to: 'segment.value_page, head ^ 1u,',
    check: 'exact: pointer data, affine',
    message: /pointing at token/,
  },
  'stale scale: the parameters of another group of keys': {
    kernel: 'attend',
    from: 'entry = slot / key_groupSize * key_headDim + channel;',
    to: 'entry = ((slot / key_groupSize) ^ 1u) * key_headDim + channel;',
    check: 'plan: asymmetric 4 bit along tokens',
    message: /nmse/,
  },
  'stale scale: packed by the parameters of another group': {
    kernel: 'packParameters',
    from: 'parametersAt(pack.page, head, slot, channel)',
    to: 'parametersAt(pack.page, head, slot, channel ^ GROUP_SIZE)',
    check: 'plan: e4m3 scales of integers',
    message: /nmse|byte for byte/,
  },
  'a sliding window one longer': {
    kernel: 'attend',
    from: 'token + WINDOW_SIZE)',
    to: 'token + WINDOW_SIZE + 1u)',
    check: 'plan: a sliding window',
    message: /nmse|log-sum-exp/,
  },
  'a tile that the window still touches left out': {
    kernel: 'attend',
    from: 'first + tokens - 1u + WINDOW_SIZE <= position',
    to: 'first + tokens - 2u + WINDOW_SIZE <= position',
    check: 'plan: a sliding window',
    message: /nmse|log-sum-exp/,
  },
  'the newest token unseen': {
    kernel: 'attend',
    from: 'vec4<u32>(token) <= position',
    to: 'vec4<u32>(token) < position',
    check: 'plan: sinks, windows',
    message: /nmse|log-sum-exp/,
  },
  'tiles end one token early': {
    kernel: 'attend',
    from: '/ GROUP_HEADS + 1u;',
    to: '/ GROUP_HEADS;',
    check: 'plan: sinks, windows',
    message: /nmse|log-sum-exp/,
  },
};

test.each(Object.entries(FAULTS))('%s', { timeout: 60_000 }, async (_name, fault) => {
  const outcome = await failureOf(fault, async (device) => {
    const checks = backendChecks(webgpuBackend({ device }), { tolerances: F32_ATTENTION });
    const found = checks.find(({ name }) => name.startsWith(fault.check));
    expect(found?.skipped).toEqual([]);
    await found?.run();
  });
  expect(outcome).toMatch(fault.message);
});
