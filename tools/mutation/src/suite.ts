// Tests in a scratch copy, run by a child process that can be stopped when a mutant never ends.
import { type ChildProcess, fork } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestChoice } from './mutant.js';

/** Paths from the root of the scratch copy. */
export interface Request extends TestChoice {
  /** Sources that are not as they were at the request before. */
  readonly changed: readonly string[];
}

export interface Answer {
  /** The first test that failed. */
  readonly failed: string | null;
  /** Of the test run itself. */
  readonly errors: readonly string[];
  /** Tests that ran and passed. */
  readonly passed: number;
}

const sessionFile = fileURLToPath(new URL('./session.ts', import.meta.url));

export class Suite {
  readonly #root: string;
  #child: ChildProcess | null = null;
  readonly #changed = new Set<string>();

  constructor(root: string) {
    this.#root = root;
  }

  /** Replaces a file of the scratch copy for the runs to come. */
  write(file: string, text: string): void {
    writeFileSync(join(this.#root, file), text);
    this.#changed.add(file);
  }

  /** Runs test files until one test fails. Null when that takes longer than `limit` seconds. */
  async run(choice: TestChoice, limit: number): Promise<Answer | null> {
    if (this.#child === null) await this.#start();
    const child = this.#child as ChildProcess;
    child.send({ ...choice, changed: [...this.#changed] } satisfies Request);
    this.#changed.clear();
    const answer = await nextAnswer(child, limit);
    if (answer === null) this.stop();
    return answer;
  }

  /** Ends the child and its workers. */
  stop(): void {
    const pid = this.#child?.pid;
    this.#child = null;
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  }

  async #start(): Promise<void> {
    // `detached` makes it the leader of a group, which ends as one.
    const stdio = ['ignore', 'ignore', 'inherit', 'ipc'] as const;
    // Tests that take a share a day would miss mutants of the rest.
    const env = { ...process.env, LOWBIT_KV_WHOLE_CONTRACT: '1' };
    const options = { cwd: this.#root, env, detached: true, stdio: [...stdio] };
    this.#child = fork(sessionFile, [], options);
    if ((await nextAnswer(this.#child, 120)) === null) throw new Error('vitest does not start');
  }
}

function nextAnswer(child: ChildProcess, limit: number): Promise<Answer | null> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void) => {
      clearTimeout(timer);
      child.off('message', onMessage);
      child.off('exit', onExit);
      act();
    };
    const onMessage = (answer: unknown) => settle(() => resolve(answer as Answer));
    const onExit = (code: number | null) =>
      settle(() => reject(new Error(`the test process ended with code ${code}`)));
    const timer = setTimeout(() => settle(() => resolve(null)), limit * 1000);
    child.on('message', onMessage);
    child.on('exit', onExit);
  });
}
