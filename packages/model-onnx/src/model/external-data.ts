/**
 * Tensors whose data lies in files beside the model: checked first, then read into the model.
 */
import {
  TensorProto_DataLocation as DataLocation,
  type GraphProto,
  type TensorProto,
} from 'onnx-buf';
import { type ExternalFiles, tooShort } from './external-files.js';
import { invalidModel } from './invalid.js';

interface ExternalTensor {
  readonly tensor: TensorProto;
  readonly location: string;
  readonly offset: number;
  readonly length: number;
}

/** Locations of external data, without repetition, in order of name. Throws MODEL_INVALID. */
export function externalLocations(graph: GraphProto): string[] {
  return [
    ...new Set(externalTensors(graph).map((tensor) => field(tensor, 'location') ?? '')),
  ].sort();
}

/** Throws MODEL_INVALID for a file that is missing, outside the folder or too short; reads nothing. */
export async function checkExternalData(
  graph: GraphProto,
  files: ExternalFiles,
): Promise<ExternalTensor[]> {
  const sizes = new Map<string, number>();
  for (const location of externalLocations(graph)) sizes.set(location, await files.size(location));
  return externalTensors(graph).map((tensor) => {
    const location = field(tensor, 'location') ?? '';
    const size = sizes.get(location) ?? 0;
    const offset = numberOf(tensor, 'offset') ?? 0;
    const length = numberOf(tensor, 'length') ?? Math.max(0, size - offset);
    if (offset + length > size) throw tooShort(location, offset + length, size);
    return { tensor, location, offset, length };
  });
}

/** Puts all external data into the tensors themselves. Throws MODEL_INVALID, before anything is read. */
export async function inlineExternalData(graph: GraphProto, files: ExternalFiles): Promise<void> {
  for (const { tensor, location, offset, length } of await checkExternalData(graph, files)) {
    tensor.rawData = await files.read(location, offset, length);
    tensor.externalData = [];
    tensor.dataLocation = DataLocation.DEFAULT;
  }
}

/** Initializers and constants, those of subgraphs too. */
function externalTensors(graph: GraphProto): TensorProto[] {
  const ofNodes = graph.node.flatMap((node) =>
    node.attribute.flatMap(({ t, tensors, g, graphs }) => [
      ...(t === undefined ? tensors : [t, ...tensors]).filter(isExternal),
      ...(g === undefined ? graphs : [g, ...graphs]).flatMap(externalTensors),
    ]),
  );
  return [...graph.initializer.filter(isExternal), ...ofNodes];
}

function isExternal(tensor: TensorProto): boolean {
  return tensor.dataLocation === DataLocation.EXTERNAL;
}

function field(tensor: TensorProto, key: string): string | undefined {
  return tensor.externalData.find((entry) => entry.key === key)?.value;
}

function numberOf(tensor: TensorProto, key: string): number | undefined {
  const text = field(tensor, key);
  if (text === undefined || /^\d+$/.test(text))
    return text === undefined ? undefined : Number(text);
  throw invalidModel({
    message: `external data of tensor ${tensor.name} has a ${key} that is no number`,
    value: text,
    valid: 'a number of bytes',
    next: 'Save the model again.',
  });
}
