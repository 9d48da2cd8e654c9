/**
 * What goes wrong while a model is fetched, and what to do about it.
 */
import { LowbitKvError } from '@lowbit-kv/core';

const TRY_AGAIN = 'Run it again: what has arrived is kept and not fetched twice.';

/** One attempt that failed. Never holds a token: headers and texts of the server stay out. */
export class HubFailure extends Error {
  /** Whether another attempt may do better. */
  readonly retry: boolean;
  /** Milliseconds that the server asks to wait. */
  readonly wait: number | null;
  readonly next: string;

  constructor(
    message: string,
    options: { readonly retry: boolean; readonly wait?: number | null; readonly next?: string },
  ) {
    super(message);
    this.retry = options.retry;
    this.wait = options.wait ?? null;
    this.next = options.next ?? TRY_AGAIN;
  }
}

export interface DownloadError {
  readonly message: string;
  readonly value?: unknown;
  readonly valid?: string | readonly unknown[];
  readonly next?: string;
  readonly cause?: unknown;
}

export function downloadError({ next = TRY_AGAIN, ...details }: DownloadError): LowbitKvError {
  return new LowbitKvError('MODEL_DOWNLOAD', { ...details, next });
}

/** Of an HTTP status that is not a success. */
export function statusFailure(response: Response): HubFailure {
  const { status } = response;
  const message = `the hub answers with status ${status}`;
  if (status === 401 || status === 403) {
    const next =
      'Give a token that may read it; for a gated model, accept its terms on its page first. Names that do not exist give this status as well.';
    return new HubFailure(message, { retry: false, next });
  }
  if (status === 404) {
    const next = 'Correct the name or the revision; a private model needs a token.';
    return new HubFailure(message, { retry: false, next });
  }
  const retry = status === 408 || status === 429 || status >= 500;
  return new HubFailure(message, { retry, wait: secondsOf(response.headers.get('retry-after')) });
}

function secondsOf(header: string | null): number | null {
  return header !== null && /^\d+$/.test(header) ? Number(header) * 1000 : null;
}

/** Of a connection that failed or broke. */
export function connectionFailure(error: unknown): HubFailure {
  const { cause } = error as { readonly cause?: { code?: unknown; message?: unknown } };
  const reason = cause?.code ?? cause?.message ?? (error as Error).message;
  return new HubFailure(`the connection failed: ${reason}`, { retry: true });
}
