/** What is known about the shipped capture beyond its file: the model's size, and calibration tokens it does not hold. */
import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { decodeF16 } from '@lowbit-kv/core';
import { type CalibrationSource, calibrationRuns, type LayerBits } from './calibration-source.js';
import type { Capture } from './capture.js';
import type { CaptureData } from './capture-data.js';
import { captureError } from './capture-error.js';
import { captureTensor } from './capture-index.js';
import { type CaptureSizes, tokensFirst } from './capture-layers.js';
import { defaultCapturePath } from './default-capture.js';
import { openSafetensors } from './open-safetensors.js';
import { rotatedBack } from './pre-rope.js';
import { requireRotary } from './rotary.js';
import type { SafetensorsFile } from './safetensors.js';

/** Layers of the model that the default capture was made with. */
export const DEFAULT_CAPTURE_MODEL_LAYERS = 30;

/** Whether this is the file the package ships, by path. */
export function isDefaultCapture(capture: Capture): boolean {
  const real = (path: string) => realpathSync(path, { encoding: 'utf8' });
  try {
    return real(capture.file) === real(defaultCapturePath());
  } catch (error) {
    // A capture in memory has a label instead of a path.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** Path of the calibration sample; data/README.md says how it was cut. */
export function defaultCalibrationPath(): string {
  return fileURLToPath(new URL('../data/smollm2-135m-calibration.safetensors', import.meta.url));
}

/** The held-out sample for the default capture: later tokens of the same text, of the same layers. */
export async function defaultCalibration(
  layers: readonly number[],
  { sizes, rotary }: Pick<CaptureData, 'sizes' | 'rotary'>,
): Promise<CalibrationSource> {
  const file = await openSafetensors(defaultCalibrationPath());
  try {
    const positions = file.metadata.get('positions') ?? '';
    const [first, last] = positions.split('..').map(Number) as [number, number];
    const tokens = last - first + 1;
    const read: LayerBits[] = [];
    for (const layer of layers) {
      read.push({
        key: await readHeads(file, captureTensor(layer, 'key'), tokens, sizes.keyHeadDim, sizes),
        value: await readHeads(
          file,
          captureTensor(layer, 'value'),
          tokens,
          sizes.valueHeadDim,
          sizes,
        ),
      });
    }
    // The sample is of the model of the capture, so its keys were rotated alike.
    const before = ({ key, value }: LayerBits): LayerBits => {
      const embedding = { ...requireRotary(rotary), firstPosition: first };
      return { key: rotatedBack(decodeF16(key), sizes, embedding), value };
    };
    return {
      note: {
        source: 'held-out',
        description: `held-out tokens ${positions} of the text; the capture is tokens 0..${sizes.tokens - 1}`,
      },
      samples: (stage) => {
        const layersAt = stage === 'post-rope' ? read : read.map(before);
        return calibrationRuns(layersAt, sizes, tokens);
      },
    };
  } finally {
    await file.close();
  }
}

async function readHeads(
  file: SafetensorsFile,
  tensor: string,
  tokens: number,
  headDim: number,
  { kvHeads }: CaptureSizes,
): Promise<Uint16Array> {
  const expected = [1, kvHeads, tokens, headDim];
  const shape = file.tensors.get(tensor)?.shape;
  if (shape?.join() !== expected.join()) {
    throw captureError(file.file, {
      reason: 'the calibration sample does not fit the capture',
      tensor,
      value: shape,
      valid: `[${expected.join(', ')}]`,
      next: 'Cut the sample again with the script that data/README.md names.',
    });
  }
  return tokensFirst(await file.readF16(tensor), kvHeads, tokens, headDim);
}
