// Kernels with one fault each fail a check of the contract: the device is given a changed shader text.
import { backendChecks } from '@lowbit-kv/core/contract';
import { expect, test } from 'vitest';
import { webgpuBackend } from '../src/index.js';
import { swiftShaderDevice } from './support/swiftshader.js';
import { F32_ATTENTION } from './support/tolerances.js';

interface Fault {
  /** Label of the kernel. */
  readonly kernel: string;
  readonly from: string;
  readonly to: string;
  /** Beginning of the name of the check that must fail. */
  readonly check: string;
  readonly message: RegExp;
}

const FAULTS: Readonly<Record<string, Fault>> = {
  'zero output': {
    kernel: 'merge',
    from: 'select(0.0, value / sum, seen)',
    to: 'select(0.0, value / sum, seen) * 0.0',
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
    check: 'exact: pointer data, f16',
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
    // Kernels of one text share a module, which has the name of the first.
    kernel: 'packParameters',
    from: 'parametersAt(pack.page, head, slot, channel)',
    to: 'parametersAt(pack.page, head, slot, channel ^ GROUP_SIZE)',
    check: 'plan: symmetric full 3 bit along channels',
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
    check: 'plan: nothing packed',
    message: /nmse|log-sum-exp/,
  },
  'tiles end one token early': {
    kernel: 'attend',
    from: '/ GROUP_HEADS + 1u;',
    to: '/ GROUP_HEADS;',
    check: 'plan: nothing packed',
    message: /nmse|log-sum-exp/,
  },
};

/** What the first check with this beginning of its name throws on a device with the fault. */
async function failure({ kernel, from, to, check }: Fault): Promise<string> {
  const device = await swiftShaderDevice();
  const create = device.createShaderModule.bind(device);
  let changed = 0;
  device.createShaderModule = (descriptor) => {
    if (descriptor.label !== kernel) return create(descriptor);
    const code = descriptor.code.replaceAll(from, to);
    if (code !== descriptor.code) changed++;
    return create({ ...descriptor, code });
  };
  const checks = backendChecks(webgpuBackend({ device }), { tolerances: F32_ATTENTION });
  const found = checks.find(({ name }) => name.startsWith(check));
  if (found === undefined) throw new Error(`no check ${check}`);
  expect(found.skipped).toEqual([]);
  try {
    await found.run();
    return 'passed';
  } catch (error) {
    return String(error);
  } finally {
    device.destroy();
    expect(changed, 'shaders that the fault is in').toBeGreaterThan(0);
  }
}

test.each(Object.entries(FAULTS))('%s', { timeout: 60_000 }, async (_name, fault) => {
  expect(await failure(fault)).toMatch(fault.message);
});
