/**
 * `lowbit-kv capture`: writes keys, values and queries of a language model over a text, for `compare` and `tune`.
 */
import { resolve } from 'node:path';
import { openCapture } from '@lowbit-kv/harness';
import { captureModel } from '@lowbit-kv/model-onnx';
import { openCutModel } from '../model/cut-model.js';
import { findModel, type ModelOptions } from '../model/open-model.js';
import { readTextTokens, requireTokens, TEXT_RULE } from '../model/read-text.js';
import { duration } from '../numbers-as-text.js';
import { checkOut, type OutKind } from '../out-file.js';
import type { Terminal } from '../terminal.js';

export interface CaptureCommandOptions extends ModelOptions {
  readonly text: string;
  /** All of the model when left out. */
  readonly layers?: readonly number[];
  readonly tokens: number;
  /** 128, or all tokens where there are fewer, when left out. */
  readonly queries?: number;
  readonly preRope: boolean;
  readonly out: string;
  readonly threads?: number;
}

const CAPTURE_FILE: OutKind = {
  what: 'a capture',
  extension: '.safetensors',
  async holds(path) {
    try {
      await (await openCapture(path)).close();
      return true;
    } catch {
      return false;
    }
  },
};

export async function capture(
  terminal: Terminal,
  options: CaptureCommandOptions,
): Promise<undefined> {
  const session = options.threads === undefined ? {} : { threads: options.threads };
  const out = resolve(terminal.directory, options.out);
  await checkOut(out, CAPTURE_FILE);
  const { name, files, tokenizer } = await findModel(terminal, options);
  const text = await readTextTokens(terminal.directory, options.text, tokenizer);
  const tokens = requireTokens(text, 0, options.tokens);
  const { decoder, attention, dispose } = await openCutModel(files, session);
  const started = performance.now();
  try {
    await captureModel(decoder, attention, tokens, out, {
      layers: options.layers ?? [...decoder.layers.keys()],
      queries: options.queries ?? Math.min(128, options.tokens),
      preRope: options.preRope,
      provenance: {
        model: name,
        model_fingerprint: decoder.fingerprint,
        text: `${text.name}, first ${options.tokens} tokens (${TEXT_RULE})`,
        text_sha256: text.sha256,
      },
      signal: terminal.interruption(),
      onLayer: (layer, layers) => {
        const seconds = (performance.now() - started) / 1000;
        const rate = (options.tokens * layer) / layers / seconds;
        terminal.status(
          `layer ${layer}/${layers}: ${rate.toFixed(0)} tokens/s, ${duration((seconds / layer) * (layers - layer))} left`,
        );
      },
    });
  } finally {
    await dispose();
  }
  terminal.note(`${out}: use it with lowbit-kv compare --capture ${JSON.stringify(options.out)}`);
  return;
}
