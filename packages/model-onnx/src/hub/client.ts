/**
 * Requests to the hub: with the token, a limit on silence, and further attempts.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { connectionFailure, downloadError, HubFailure, statusFailure } from './failure.js';
import type { CheckedOptions } from './options.js';

const LONGEST_WAIT = 60_000;
/** Of answers of the hub's API. */
const LARGEST_ANSWER = 2 ** 26;

export type Chunks = AsyncIterable<Uint8Array>;

export class HubClient {
  readonly endpoint: string;
  readonly #options: CheckedOptions;

  constructor(options: CheckedOptions) {
    this.endpoint = options.endpoint;
    this.#options = options;
  }

  /** For the hub's library: answers are read whole, and a status that is no success throws. */
  readonly fetch: typeof fetch = (input) => {
    const url = input instanceof Request ? input.url : String(input);
    return this.retrying('the hub cannot be asked', () =>
      this.request(url, { accept: 'application/json' }, async (response, chunks) => {
        const parts: Uint8Array[] = [];
        let size = 0;
        for await (const chunk of chunks) {
          parts.push(chunk);
          size += chunk.length;
          if (size > LARGEST_ANSWER)
            throw new HubFailure('the answer of the hub does not end', { retry: false });
        }
        return new Response(Buffer.concat(parts), { headers: response.headers });
      }),
    );
  };

  /** One attempt. Throws HubFailure, the reason of the signal, or what `use` throws. */
  async request<T>(
    url: string,
    headers: Readonly<Record<string, string>>,
    use: (response: Response, chunks: Chunks) => Promise<T>,
  ): Promise<T> {
    const { signal, timeout } = this.#options;
    const silence = new AbortController();
    const timer = setTimeout(() => silence.abort(), timeout);
    const failure = (error: unknown): unknown => {
      if (signal?.aborted) return signal.reason;
      if (!silence.signal.aborted) return connectionFailure(error);
      return new HubFailure(`nothing came for ${timeout} ms`, { retry: true });
    };
    try {
      const response = await fetch(url, {
        headers: { ...headers, ...this.#authorization(url) },
        signal: signal === undefined ? silence.signal : AbortSignal.any([signal, silence.signal]),
      }).catch((error: unknown) => {
        throw failure(error);
      });
      if (!response.ok) {
        silence.abort();
        throw statusFailure(response);
      }
      return await use(response, watched(response, timer, failure));
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Attempts until one succeeds. Those that got further (`progress`, in bytes) do not count. Throws MODEL_DOWNLOAD:
   * `message`, and how the last one failed.
   */
  async retrying<T>(
    message: string,
    attempt: () => Promise<T>,
    progress: () => number = () => 0,
  ): Promise<T> {
    const { signal, retries, retryDelay } = this.#options;
    let furthest = progress();
    for (let failures = 0; ; failures++) {
      signal?.throwIfAborted();
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof HubFailure)) throw error;
        if (progress() > furthest) {
          furthest = progress();
          failures = 0;
        }
        if (!error.retry || failures >= retries)
          throw downloadError({ message: `${message}: ${error.message}`, next: error.next });
        await this.#pause(Math.min(error.wait ?? retryDelay * 2 ** failures, LONGEST_WAIT));
      }
    }
  }

  async #pause(milliseconds: number): Promise<void> {
    const { signal } = this.#options;
    try {
      await sleep(milliseconds, undefined, signal === undefined ? {} : { signal });
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  }

  /** Pages of a list may name other hosts: they get no token. */
  #authorization(url: string): Record<string, string> {
    const { token } = this.#options;
    if (token === undefined || new URL(url).origin !== new URL(this.endpoint).origin) return {};
    return { authorization: `Bearer ${token}` };
  }
}

/** Pieces of a body; each restarts the timer. */
async function* watched(
  response: Response,
  timer: NodeJS.Timeout,
  failure: (error: unknown) => unknown,
): AsyncGenerator<Uint8Array> {
  const pieces = response.body?.[Symbol.asyncIterator]();
  let whole = pieces === undefined;
  try {
    while (!whole) {
      const piece = await pieces?.next().catch((error: unknown) => {
        throw failure(error);
      });
      whole = piece?.done !== false;
      timer.refresh();
      if (piece?.done === false) yield piece.value;
    }
  } finally {
    // Whoever stops reading closes the connection.
    if (!whole) await pieces?.return?.();
  }
}
