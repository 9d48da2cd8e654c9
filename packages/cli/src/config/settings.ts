/**
 * What a configuration file may say: the options of the commands by their names, for all commands that have them or in a block of
 * one command.
 */
import * as z from 'zod';

const text = z.string();
const flag = z.boolean();
const number = z.number();
const texts = z.union([z.string(), z.array(z.string())]);
const numbers = z.union([z.number(), z.array(z.number())]);

/** What fails a run of a command that has a gate: that of `--gate`, and conditions as `--fail-if` takes them. */
export const gateBlock = z.strictObject({
  builtIn: flag.optional(),
  failIf: texts.optional(),
});

export type GateBlock = z.infer<typeof gateBlock>;

/** Every option of every command: `--fail-if` is `failIf`. Values are read as those of flags are. */
export const settings = z.strictObject({
  againstF16: flag.optional(),
  all: flag.optional(),
  allowCalibratedText: flag.optional(),
  allowDifferentData: flag.optional(),
  allowDifferentMachine: flag.optional(),
  allowEmulation: flag.optional(),
  allowEvaluationText: flag.optional(),
  attention: text.optional(),
  backend: texts.optional(),
  batch: numbers.optional(),
  bench: texts.optional(),
  block: number.optional(),
  blockTokens: number.optional(),
  budgetBits: number.optional(),
  calibration: text.optional(),
  calibrationTokens: number.optional(),
  capture: text.optional(),
  compare: text.optional(),
  config: text.optional(),
  evaluationText: texts.optional(),
  failIf: texts.optional(),
  firstToken: number.optional(),
  fresh: flag.optional(),
  /** `true` is `--gate`. */
  gate: z.union([flag, gateBlock]).optional(),
  geometry: z.union([text, z.record(text, z.unknown())]).optional(),
  headDim: numbers.optional(),
  heads: texts.optional(),
  id: text.optional(),
  json: flag.optional(),
  layer: number.optional(),
  layers: numbers.optional(),
  limit: number.optional(),
  markdown: flag.optional(),
  maxTokens: number.optional(),
  memory: text.optional(),
  mode: text.optional(),
  model: text.optional(),
  modelFile: text.optional(),
  modelLayers: number.optional(),
  offline: flag.optional(),
  operation: texts.optional(),
  out: text.optional(),
  positions: number.optional(),
  preRope: flag.optional(),
  prompt: text.optional(),
  promptTokens: number.optional(),
  queries: number.optional(),
  queryTokens: numbers.optional(),
  raw: flag.optional(),
  recent: number.optional(),
  retrieval: numbers.optional(),
  revision: text.optional(),
  samples: number.optional(),
  scheme: texts.optional(),
  seed: number.optional(),
  sequences: number.optional(),
  shard: text.optional(),
  sinks: number.optional(),
  stress: texts.optional(),
  system: text.optional(),
  temperature: number.optional(),
  tensor: text.optional(),
  text: text.optional(),
  threads: number.optional(),
  threshold: number.optional(),
  tokens: numbers.optional(),
  topK: number.optional(),
  topP: number.optional(),
  warmUp: number.optional(),
  window: number.optional(),
  windows: number.optional(),
});

/** Settings of options. */
export type Settings = z.infer<typeof settings>;

/** Name of a command as the name of its block: exportOnnx for export-onnx. */
export function blockName(command: string): string {
  return command.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}
