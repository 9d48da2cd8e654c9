/**
 * The blocks that run a language model: a tiny one.
 */
import { referenceBackend } from '@lowbit-kv/core';
import { type EvaluateOptions, evaluateShard, writeShardFile } from '@lowbit-kv/harness';
import {
  AttentionSessions,
  evaluatedModel,
  openCutDecoder,
  openModelFiles,
  openTokenizer,
  openUncut,
} from '@lowbit-kv/model-onnx';
import { kivi } from '@lowbit-kv/scheme-kivi';
import { tinyText } from '../../../packages/cli/test/support/tiny-model.js';
import type { Program } from './programs.js';
import type { ReaderFolder } from './reader-folder.js';

const MODEL = 'SmolLM2-135M-Instruct';
/** Of the evaluation: 8 windows of 1024. */
const TOKENS = 8 * 1024;

export const MODEL_PROGRAMS: Readonly<Record<string, Program>> = {
  'packages/model-onnx/README.md#2': {
    given: () => {
      const written: string[] = [];
      return { written, process: { stdout: { write: (text: string) => written.push(text) } } };
    },
    paths: [MODEL],
    holds: "written.length > 1 && written.join('').length > 0 && run.length > prompt.length",
  },
  'packages/harness/docs/evaluation.md#1': {
    given: async (reader, onEnd) => {
      const { model, text, schemes } = await evaluation(reader, onEnd);
      return { model, schemes, ...text, console: { log: () => undefined } };
    },
    paths: ['runs'],
    holds: "report.valid && report.schemes[1].status === 'measured'",
  },
  'packages/harness/docs/sharding.md#2': {
    async given(reader, onEnd) {
      const options = { ...(await evaluation(reader, onEnd)), windows: 2, windowTokens: 64 };
      const other = await evaluateShard(options, { index: 2, of: 2 }, { version: 'my-tool 1.0.0' });
      await writeShardFile(reader.path('shard-2-of-2.jsonl'), other);
      return { options };
    },
    paths: ['shard-1-of-2.jsonl', 'shard-2-of-2.jsonl'],
    holds: "sources.length === 2 && report.schemes[1].status === 'measured'",
  },
};

/** The tiny model, a text of just the windows, a scheme. */
async function evaluation(
  reader: ReaderFolder,
  onEnd: (work: () => unknown) => void,
): Promise<Pick<EvaluateOptions, 'model' | 'text' | 'schemes'>> {
  const files = await openModelFiles(reader.path(MODEL));
  const session = { threads: 1 };
  const decoder = await openCutDecoder(files, session);
  const attention = await AttentionSessions.open(session);
  const uncut = await openUncut(files, session);
  onEnd(() => Promise.all([decoder.dispose(), attention.release(), uncut.dispose()]));
  const parts = { decoder, attention, uncut: uncut.logits, backend: referenceBackend() };
  const tokens = (await openTokenizer(reader.path(MODEL))).encode(tinyText(3, 200));
  if (tokens.length < TOKENS) throw new Error(`only ${tokens.length} tokens`);
  return {
    model: evaluatedModel({ name: 'tiny', ...parts, tokens: 1024 }),
    text: { name: 'tiny text', sha256: '0'.repeat(64), tokens: tokens.slice(0, TOKENS) },
    schemes: [kivi({ bits: 4 })],
  };
}
