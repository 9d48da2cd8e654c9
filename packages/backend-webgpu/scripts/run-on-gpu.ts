/**
 * Runs the shaders that CI cannot run on the GPU of this machine, against the reference, and writes their hashes:
 * `run-on-gpu.ts [file]`. Default: benchmarks/results/webgpu-shader-hashes.json.
 */
import { writeFileSync } from 'node:fs';
import { createTwin, FAST_ATTENTION, INTEGER_ATTENTION } from '@lowbit-kv/core/contract';
import { openNodeGpu } from '../src/node.js';
import type { Precision } from '../src/shaders/attention-programs.js';
import {
  HASHES_FILE,
  type ShaderHashes,
  shaderHashes,
  subgroupPlans,
} from '../test/support/shader-hashes.js';

const TOLERANCES = { exact: INTEGER_ATTENTION, fast: FAST_ATTENTION };

async function runPlans(precision: Precision): Promise<string> {
  const { device, backend } = await openNodeGpu({ precision });
  const { vendor, architecture, description, subgroupMinSize, subgroupMaxSize } =
    device.adapterInfo;
  if (subgroupMinSize !== 32 || subgroupMaxSize !== 32)
    throw new Error(`subgroups of ${subgroupMinSize} to ${subgroupMaxSize}, not of 32`);
  const errors: string[] = [];
  device.addEventListener('uncapturederror', ({ error }) => errors.push(error.message));
  for (const { name, plan } of subgroupPlans()) {
    const twin = await createTwin(plan, backend, {
      tokens: 400,
      sequences: 2,
      tolerances: TOLERANCES[precision],
    });
    try {
      const [long, short] = [twin.createPair(), twin.createPair()];
      await twin.step([
        { pair: long, tokens: 300 },
        { pair: short, tokens: 150 },
      ]);
      await twin.step([
        { pair: long, tokens: 1 },
        { pair: short, tokens: 1 },
      ]);
      const blocks = (await twin.compareBlocks(long)) + (await twin.compareBlocks(short));
      console.log(`${precision}: ${name}: ${blocks} blocks equal, attention within tolerance`);
    } finally {
      twin.dispose();
    }
  }
  if (errors.length > 0) throw new Error(`GPU errors: ${errors.join('; ')}`);
  device.destroy();
  return [vendor, architecture, description].filter(Boolean).join(' ');
}

const adapter = await runPlans('exact');
await runPlans('fast');
const record: ShaderHashes = {
  date: new Date().toISOString().slice(0, 10),
  adapter,
  hashes: shaderHashes(),
};
writeFileSync(process.argv[2] ?? HASHES_FILE, `${JSON.stringify(record, null, 2)}\n`);
