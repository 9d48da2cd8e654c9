// Kernels with one fault each fail a check of the contract: the device is given a changed shader text.
import { backendChecks, F32_ATTENTION } from '@lowbit-kv/core/contract';
import { afterAll, expect, test } from 'vitest';
import { webgpuBackend } from '../src/index.js';
import { type SwitchedFault, SwitchedFaults } from './support/switched-faults.js';

interface Fault extends SwitchedFault {
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
    from: 'key_element(segment.key_source, segment.key_page, head, slot, channel)',
    to: 'key_element(segment.key_source, segment.key_page, head ^ 1u, slot, channel)',
    check: 'plan: sinks, windows',
    message: /nmse/,
  },
  'swapped heads of values': {
    kernel: 'attend',
    from: 'value_element(segment.value_source, segment.value_page, head, slot, channel)',
    to: 'value_element(segment.value_source, segment.value_page, head ^ 1u, slot, channel)',
    check: 'exact: pointer data, affine',
    message: /pointing at token/,
  },
  'stale scale: the parameters of another group of keys': {
    kernel: 'attend',
    from: 'slot / key_groupSize * key_headDim',
    to: '((slot / key_groupSize) ^ 1u) * key_headDim',
    check: 'plan: asymmetric 4 bit along tokens',
    message: /nmse/,
  },
  'stale scale: packed by the parameters of another group': {
    kernel: 'packParameters',
    from: 'parametersAt(pack.page, head, slot, channel)',
    to: 'parametersAt(pack.page, head, slot, select(channel, channel ^ GROUP_SIZE, IS_ON))',
    check: 'plan: e4m3 scales of integers',
    message: /nmse|byte for byte/,
  },
  'a sliding window one longer': {
    kernel: 'attend',
    from: 'token + WINDOW_SIZE',
    to: 'token + WINDOW_SIZE + 1u',
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
    from: '(min(work.firstRow + ROWS, work.rows) - 1u) / GROUP_HEADS + 1u',
    to: '(min(work.firstRow + ROWS, work.rows) - 1u) / GROUP_HEADS',
    check: 'plan: sinks, windows',
    message: /nmse|log-sum-exp/,
  },
};

const faults = await SwitchedFaults.open(FAULTS);
afterAll(() => faults.device.destroy());

async function runCheck(device: GPUDevice, name: string): Promise<void> {
  const checks = backendChecks(webgpuBackend({ device }), { tolerances: F32_ATTENTION });
  const found = checks.find((check) => check.name.startsWith(name));
  expect(found?.skipped).toEqual([]);
  await found?.run();
}

const checks = [...new Set(Object.values(FAULTS).map(({ check }) => check))];

test.each(checks)('none: passes %s', { timeout: 60_000 }, async (check) => {
  expect(await faults.outcome(null, (device) => runCheck(device, check))).toBe('passed');
});

test.each(Object.entries(FAULTS))('%s', { timeout: 60_000 }, async (name, fault) => {
  const outcome = await faults.outcome(name, (device) => runCheck(device, fault.check));
  expect(outcome).toMatch(fault.message);
});
