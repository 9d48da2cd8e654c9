/**
 * Reads a model file with its external data.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fromBinary } from '@bufbuild/protobuf';
import { type GraphProto, type ModelProto, ModelProtoSchema } from 'onnx-buf';
import { checkExternalData, externalLocations, inlineExternalData } from './external-data.js';
import { invalidModel } from './invalid.js';
import type { ModelFiles } from './model-files.js';

export interface LoadedModel {
  /** All external data is in its tensors. */
  readonly model: ModelProto;
  /** SHA-256 over the model file and its external files, in order of their names. */
  readonly fingerprint: string;
}

/** Throws MODEL_INVALID. */
export async function readModel(files: ModelFiles): Promise<LoadedModel> {
  const bytes = await modelBytes(files);
  const { model, graph } = parseModel(files, bytes);
  const locations = externalLocations(graph);
  await inlineExternalData(graph, files.external);
  return { model, fingerprint: await hashOf(files, bytes, locations) };
}

/** The fingerprint alone: external data is not kept in memory. Throws MODEL_INVALID. */
export async function fingerprintOf(files: ModelFiles): Promise<string> {
  const bytes = await modelBytes(files);
  const { graph } = parseModel(files, bytes);
  await checkExternalData(graph, files.external);
  return hashOf(files, bytes, externalLocations(graph));
}

/** Checks a model without reading its external data; gives the names of the files. Throws MODEL_INVALID. */
export async function checkModel(files: ModelFiles): Promise<string[]> {
  const { graph } = parseModel(files, await modelBytes(files));
  await checkExternalData(graph, files.external);
  return externalLocations(graph);
}

async function hashOf(
  { external }: ModelFiles,
  bytes: Uint8Array,
  locations: readonly string[],
): Promise<string> {
  const hash = createHash('sha256').update(bytes);
  for (const location of locations)
    for await (const chunk of external.stream(location)) hash.update(chunk);
  return hash.digest('hex');
}

async function modelBytes({ model }: ModelFiles): Promise<Uint8Array> {
  if (typeof model !== 'string') return model;
  try {
    return await readFile(model);
  } catch (cause) {
    throw invalidModel({
      message: `the model file cannot be read: ${model}`,
      value: cause instanceof Error ? cause.message : String(cause),
      valid: 'a file that may be read',
      next: 'Check the path and its permissions.',
      cause,
    });
  }
}

function parseModel(
  files: ModelFiles,
  bytes: Uint8Array,
): { readonly model: ModelProto; readonly graph: GraphProto } {
  const damaged = (cause?: unknown) =>
    invalidModel({
      message: 'this is not a readable ONNX model',
      value: typeof files.model === 'string' ? files.model : files.name,
      valid: 'an ONNX file with a graph',
      next: 'Fetch the file again; a small text file in its place is a pointer of Git LFS.',
      cause,
    });
  let model: ModelProto;
  try {
    model = fromBinary(ModelProtoSchema, bytes);
  } catch (cause) {
    throw damaged(cause);
  }
  const { graph } = model;
  if (graph === undefined || graph.node.length === 0) throw damaged();
  return { model, graph };
}
