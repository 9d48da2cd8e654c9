/** `lowbit-kv generate` with one prompt in a workspace. */
import { expect } from 'vitest';
import type { HereOptions, HereResult } from './run-here.js';
import type { TinyWorkspace } from './tiny-workspace.js';

export const PROMPT = 'the river ran low';
/** What the chat template makes of it. */
export const CHAT = `<|bos|><|turn|>user: ${PROMPT}\n<|turn|>assistant:`;

export function generations({ here }: TinyWorkspace) {
  const generated = (args: readonly string[], options: HereOptions = {}): Promise<HereResult> =>
    here('generate', ['--prompt', PROMPT, ...args], options);
  /** Stdout, where all went well. */
  async function textOf(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await generated(args);
    expect(code, stderr).toBe(0);
    return stdout;
  }
  return { generated, textOf };
}
