// Composed shaders: what main plans are made of, and that every text of the contract plans is valid.

import type { Backend, Plan } from '@lowbit-kv/core';
import { backendChecks } from '@lowbit-kv/core/contract';
import { expect, it } from 'vitest';
import { refusals } from '../src/refusals.js';
import type { ShaderOptions } from '../src/shaders/attention-programs.js';
import { SHADER_PARTS } from '../src/shaders/parts.generated.js';
import { mainPlans } from './support/main-plans.js';
import { layerPrograms, planTexts } from './support/plan-programs.js';
import { swiftShaderDevice } from './support/swiftshader.js';

const GENERAL: ShaderOptions = {
  precision: 'exact',
  subgroupsOf32: false,
  integerDots: false,
};
const INTEGER: ShaderOptions = { ...GENERAL, subgroupsOf32: true, integerDots: true };

/** The text with every shader file in it replaced by its name, so that only what a plan decides is left. */
function skeleton(code: string): string {
  let text = code;
  const parts = Object.entries(SHADER_PARTS).sort(([, a], [, b]) => b.length - a.length);
  for (const [name, part] of parts) {
    for (const prefix of ['tensor_', 'key_', 'value_']) {
      const own = part.replace(/\btensor_/g, prefix);
      const as = own === part ? '' : ` as ${prefix}`;
      text = text.split(own).join(`// ${name}.wgsl${as}\n`);
    }
  }
  return text;
}

it.each(mainPlans())('composes $name as before', ({ plan }) => {
  const [layer] = plan.layers;
  if (layer === undefined) throw new Error('a plan has a layer');
  const texts = layerPrograms(layer, INTEGER).map(
    ([name, { entryPoint, code }]) => `==== ${name}: ${entryPoint}\n${skeleton(code)}`,
  );
  expect(texts.join('\n')).toMatchSnapshot();
});

/** The plans of the contract, as its checks show them to a backend. */
function contractPlans(): Plan[] {
  const plans = new Set<Plan>();
  const collector: Backend = {
    specVersion: 1,
    id: 'collector',
    probe: async () => ({ ok: true, device: 'none' }),
    supports(plan) {
      plans.add(plan);
      return { kind: 'refused', reasons: ['only looked at'] };
    },
    createStore() {
      throw new Error('refused plans have no store');
    },
  };
  backendChecks(collector);
  return [...plans];
}

it('composes valid shaders for every plan of the contract', { timeout: 120_000 }, async () => {
  // With the feature, shaders for subgroups of 32 are valid here too, though they cannot run.
  const device = await swiftShaderDevice({
    requiredFeatures: ['subgroups' as GPUFeatureName],
  });
  const plans = contractPlans().filter((plan) => refusals(plan).length === 0);
  expect(plans.length).toBeGreaterThan(50);
  const texts = new Set<string>();
  for (const plan of [...plans, ...mainPlans().map((main) => main.plan)])
    for (const options of [GENERAL, { ...GENERAL, integerDots: true }, INTEGER])
      for (const text of planTexts(plan, options)) texts.add(text);
  const faults: string[] = [];
  for (const code of texts) {
    device.pushErrorScope('validation');
    const { messages } = await device.createShaderModule({ code }).getCompilationInfo();
    const error = await device.popErrorScope();
    faults.push(...messages.map(({ lineNum, message }) => `${lineNum}: ${message}\n${code}`));
    if (error !== null) faults.push(error.message);
  }
  expect(faults).toEqual([]);
  expect(texts.size).toBeGreaterThan(150);
  device.destroy();
});
