/** How far a snapshot is, and how it is stopped. */
import { type Pause, pauseFor } from '../pause.js';

export interface SnapshotOptions {
  /**
   * Stops between the pages of two tensors with the signal's reason; nothing is left behind then. While there is one, timers
   * and other work get a turn every 25 ms.
   */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: SnapshotProgress) => void;
}

/** Its fields. */
export const SNAPSHOT_OPTIONS = ['signal', 'onProgress'] as const;

/** Bytes of pages that were read or written, of all. */
export interface SnapshotProgress {
  readonly bytes: number;
  readonly totalBytes: number;
}

/** Options of `snapshot` and `restore`, while they run. */
export class SnapshotRun {
  readonly pause: Pause;
  readonly #onProgress: SnapshotOptions['onProgress'];
  readonly #totalBytes: number;
  #bytes = 0;

  constructor({ signal, onProgress }: SnapshotOptions, totalBytes: number) {
    this.pause = pauseFor(signal);
    this.#onProgress = onProgress;
    this.#totalBytes = totalBytes;
  }

  did(bytes: number): void {
    this.#bytes += bytes;
    this.#onProgress?.({ bytes: this.#bytes, totalBytes: this.#totalBytes });
  }
}
