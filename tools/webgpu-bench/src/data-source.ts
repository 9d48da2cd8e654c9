/**
 * Keys and values in device buffers, for the appends that fill a cache.
 */
import { gpuTensor } from '@lowbit-kv/backend-webgpu';
import type { Random } from '@lowbit-kv/core/testing';
import { drawnKeys, drawnValues } from './drawn-data.js';
import { HEAD_DIM, KV_HEADS } from './plans.js';

/** Rows that are drawn, and what steps take theirs from: the drawn ones, repeated. */
const DRAWN_ROWS = 4608;
const SOURCE_ROWS = 4 * DRAWN_ROWS;
const ROW_ELEMENTS = KV_HEADS * HEAD_DIM;

/** Drawn keys and values in device buffers, f16 `[rows, heads, headDim]`. */
export class DataSource {
  readonly #key: GPUBuffer;
  readonly #value: GPUBuffer;

  constructor(device: GPUDevice) {
    const shape = [DRAWN_ROWS, KV_HEADS, HEAD_DIM];
    const upload = (data: Uint16Array<ArrayBuffer>) => {
      const size = SOURCE_ROWS * ROW_ELEMENTS * 2;
      const buffer = device.createBuffer({ size, usage: 0x88 }); // STORAGE | COPY_DST
      for (let byte = 0; byte < size; byte += data.byteLength)
        device.queue.writeBuffer(buffer, byte, data);
      return buffer;
    };
    this.#key = upload(drawnKeys(shape, 11, 'f16') as Uint16Array<ArrayBuffer>);
    this.#value = upload(drawnValues(shape, 12, 'f16') as Uint16Array<ArrayBuffer>);
  }

  /** `rows` consecutive rows from a random place on. */
  rows(rows: number, random: Random) {
    const tensor = (buffer: GPUBuffer) =>
      gpuTensor(buffer, {
        type: 'f16',
        shape: [rows, KV_HEADS, HEAD_DIM],
        offset: random(SOURCE_ROWS - rows + 1) * ROW_ELEMENTS,
      });
    return { key: tensor(this.#key), value: tensor(this.#value) };
  }

  dispose(): void {
    this.#key.destroy();
    this.#value.destroy();
  }
}
