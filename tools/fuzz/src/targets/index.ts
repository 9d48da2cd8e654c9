/**
 * Everything that is fuzzed. A further format is one module with a Target, and one line here.
 */
import type { Target } from '../target.js';
import { calibration } from './calibration.js';
import { capture } from './capture.js';
import { chatTemplate } from './chat-template.js';
import { commandLine } from './command-line.js';
import { config } from './config.js';
import { configuration } from './configuration.js';
import { externalData } from './external-data.js';
import { geometry } from './geometry.js';
import { hub } from './hub.js';
import { inspect } from './inspect.js';
import { onnx } from './onnx.js';
import { page } from './page.js';
import { report } from './report.js';
import { safetensors } from './safetensors.js';
import { scheme } from './scheme.js';
import { shard } from './shard.js';
import { snapshot } from './snapshot.js';
import { tokenizer } from './tokenizer.js';

export const TARGETS: readonly Target[] = [
  ...[safetensors, capture, snapshot, page, onnx, externalData, config, geometry, tokenizer],
  ...[chatTemplate, calibration, scheme, report, shard, inspect, commandLine, configuration, hub],
];

export function targetOf(name: string): Target {
  const found = TARGETS.find((target) => target.name === name);
  if (found !== undefined) return found;
  throw new Error(`no format ${name}; valid: ${TARGETS.map((target) => target.name).join(', ')}`);
}
