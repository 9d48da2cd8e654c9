/**
 * What a safetensors file holds: tensors, metadata, and statistics of the values as far as a budget of bytes goes.
 */
import { F32_READABLE, openSafetensors, type SafetensorsFile } from '@lowbit-kv/harness';

/** Bytes of tensors that are read for statistics. */
const READ_BYTES = 128e6;

export interface TensorFacts {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly offset: number;
  readonly bytes: number;
  /** Null where the values were not read: another layer, past the budget, or no numbers. */
  readonly values: ValueFacts | null;
}

export interface ValueFacts {
  readonly minimum: number;
  readonly maximum: number;
  readonly mean: number;
  readonly rootMeanSquare: number;
  /** NaN and infinite; left out of the other figures. */
  readonly notFinite: number;
}

export interface FileFacts {
  readonly kind: 'safetensors' | 'capture';
  readonly metadata: Readonly<Record<string, string>>;
  readonly tensors: readonly TensorFacts[];
}

/** Throws SAFETENSORS_INVALID. `layer`: tensors of this layer only. */
export async function inspectTensors(path: string, layer: number | undefined): Promise<FileFacts> {
  const file = await openSafetensors(path);
  try {
    const metadata = Object.fromEntries(file.metadata);
    const tensors: TensorFacts[] = [];
    let budget = READ_BYTES;
    for (const [name, { dtype, shape, byteOffset, byteLength }] of file.tensors) {
      if (layer !== undefined && !name.includes(`layers.${layer}.`)) continue;
      const read = byteLength <= budget && (F32_READABLE as readonly string[]).includes(dtype);
      if (read) budget -= byteLength;
      const values = read ? await valueFacts(file, name) : null;
      tensors.push({ name, dtype, shape, offset: byteOffset, bytes: byteLength, values });
    }
    const kind = metadata.format === 'lowbit-kv-capture' ? 'capture' : 'safetensors';
    return { kind, metadata, tensors };
  } finally {
    await file.close();
  }
}

async function valueFacts(file: SafetensorsFile, name: string): Promise<ValueFacts | null> {
  const data = await file.readF32(name);
  let [minimum, maximum, sum, squares, count] = [Infinity, -Infinity, 0, 0, 0];
  for (const x of data) {
    if (!Number.isFinite(x)) continue;
    if (x < minimum) minimum = x;
    if (x > maximum) maximum = x;
    sum += x;
    squares += x * x;
    count += 1;
  }
  if (count === 0) return null;
  const rootMeanSquare = Math.sqrt(squares / count);
  return { minimum, maximum, mean: sum / count, rootMeanSquare, notFinite: data.length - count };
}
