/** Captures as data: the one that comes with the harness, and files of visitors. */
import { LowbitKvError } from '@lowbit-kv/core';
import {
  type Capture,
  geometryOf,
  layerTensors,
  openCaptureBlob,
  rotaryOf,
} from '@lowbit-kv/harness/browser';
import { type Dataset, KEPT_QUERIES, MOST_ELEMENTS } from './dataset.js';

const SHIPPED_URL = new URL(
  '../../../../packages/harness/data/smollm2-135m-capture-small.safetensors',
  import.meta.url,
);
const SHIPPED_MODEL_LAYERS = 30;

/** Fetched when first asked for: a file of the page itself. */
export async function shippedCapture(): Promise<Dataset> {
  const response = await fetch(SHIPPED_URL);
  if (!response.ok)
    throw new LowbitKvError('CAPTURE_INVALID', {
      message: 'the capture beside this page cannot be read',
      value: response.status,
      valid: 'status 200',
      next: 'Serve the whole folder of the page, assets included.',
    });
  const capture = await openCaptureBlob(await response.blob(), 'the shipped capture');
  return datasetOf(capture, SHIPPED_MODEL_LAYERS);
}

/** Throws SAFETENSORS_INVALID, CAPTURE_INVALID, or OPTION_INVALID for layers that are too large for a page. */
export async function fileCapture(file: File): Promise<Dataset> {
  return datasetOf(await openCaptureBlob(file, file.name));
}

function datasetOf(capture: Capture, modelLayers?: number): Dataset {
  const { queryHeads, kvHeads, keyHeadDim, valueHeadDim, tokens, scale, provenance } = capture;
  const elements = tokens * kvHeads * (keyHeadDim + valueHeadDim);
  if (elements > MOST_ELEMENTS)
    throw new LowbitKvError('OPTION_INVALID', {
      message: 'a layer of this capture is too large for a page',
      value: `${elements} keys and values of a layer`,
      valid: `at most ${MOST_ELEMENTS}`,
      next: 'Capture fewer tokens, or use `lowbit-kv compare --capture FILE`.',
      where: { file: capture.file },
    });
  const queries = Math.min(capture.queries, KEPT_QUERIES);
  const sizes = {
    ...{ queryHeads, kvHeads, keyHeadDim, valueHeadDim, tokens, scale },
    ...{ queries, stride: 1 },
  };
  const rotary = rotaryOf(provenance, sizes);
  const told = modelLayers ?? (Number(provenance.model_layers) || 0);
  const least = (capture.layers.at(-1) as number) + 1;
  const layers = Math.max(told, least);
  return {
    name: capture.file,
    facts: [
      ['model', provenance.model ?? 'not said'],
      ['text', provenance.text ?? 'not said'],
      ['layers', `${capture.layers.join(', ')} of ${layers}`],
    ],
    layers: capture.layers,
    modelLayers: layers,
    sizes,
    rotary,
    geometry: geometryOf({ sizes, rotary }, 1),
    readLayer: async (layer) =>
      layerTensors(await capture.readLayer(layer), capture, { sizes, rotary }),
  };
}
