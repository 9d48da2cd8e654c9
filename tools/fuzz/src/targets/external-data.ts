/** External data of ONNX models: locations, offsets and lengths, in a folder with links, folders and loops. */
import { readFileSync, realpathSync, symlinkSync } from 'node:fs';
import { join, sep } from 'node:path';
import { create, toBinary } from '@bufbuild/protobuf';
import { openModelFiles } from '@lowbit-kv/model-onnx';
import {
  TensorProto_DataLocation as DataLocation,
  TensorProto_DataType as DataType,
  GraphProtoSchema,
  ModelProtoSchema,
  NodeProtoSchema,
  StringStringEntryProtoSchema,
  TensorProtoSchema,
} from 'onnx-buf';
import {
  checkModel,
  fingerprintOf,
  readModel,
} from '../../../../packages/model-onnx/src/model/read-model.js';
import { STRINGS } from '../mutate/json.js';
import type { Random } from '../random.js';
import { mustHold, type Target } from '../target.js';
import { Scratch } from './scratch.js';

const DATA_BYTES = 4096;
const LOCATIONS = [
  ...['data', './data', 'data ', 'sub/data', 'sub', '.', '..', '../secret', 'link', 'out', 'loop'],
  ...['missing', 'sub/../data', 'sub/../../x', '/etc/hostname', 'data/x', 'model.onnx', 'data\0'],
  ...['fifo', 'a'.repeat(256), ...STRINGS],
];
const NUMBERS = [
  ...['0', '1', '64', '4032', '4096', '4097', '-1', '1e3', '0x10', ' 64', '64 ', '', '64.0'],
  ...['9007199254740991', '9007199254740993', '18446744073709551615', '9'.repeat(400), 'NaN'],
];

interface DrawnTensor {
  readonly dims: readonly number[];
  readonly entries: readonly (readonly [key: string, value: string])[];
}

export const externalData: Target = {
  name: 'external-data',
  codes: ['MODEL_INVALID'],
  async open() {
    const scratch = new Scratch('external');
    const data = Uint8Array.from({ length: DATA_BYTES }, (_, i) => (i * 7) & 255);
    scratch.write('data', data);
    scratch.write('sub/data', data.subarray(0, 100));
    scratch.write('config.json', '{}');
    const at = (name: string) => join(scratch.folder, name);
    symlinkSync('data', at('link'));
    symlinkSync('../../secret', at('out'));
    symlinkSync('loop', at('loop'));
    return {
      mutant: (random) => new TextEncoder().encode(JSON.stringify(drawTensors(random))),
      async check(mutant) {
        const tensors = JSON.parse(new TextDecoder().decode(mutant)) as DrawnTensor[];
        scratch.write('model.onnx', modelOf(tensors));
        const files = await openModelFiles(scratch.folder);
        const locations = await checkModel(files);
        const { model, fingerprint } = await readModel(files);
        mustHold((await fingerprintOf(files)) === fingerprint, 'fingerprints of two readers');
        const folder = realpathSync(scratch.folder) + sep;
        for (const location of locations)
          mustHold(realpathSync(at(location)).startsWith(folder), `${location} is outside`);
        for (const [i, { entries }] of tensors.entries()) {
          const said = new Map([...entries].reverse());
          const bytes = readFileSync(at(said.get('location') ?? ''));
          const offset = Number(said.get('offset') ?? 0);
          const end = offset + Number(said.get('length') ?? bytes.length - offset);
          const raw = model.graph?.initializer[i]?.rawData ?? new Uint8Array();
          mustHold(Buffer.compare(raw, bytes.subarray(offset, end)) === 0, `bytes of tensor ${i}`);
        }
      },
      close: async () => scratch.remove(),
    };
  },
};

function drawTensors(random: Random): DrawnTensor[] {
  const count = random.chance(0.02) ? 3000 : 1 + random.small(4);
  return Array.from({ length: count }, () => {
    const entries = [
      ['location', random.chance(0.6) ? 'data' : random.pick(LOCATIONS)],
      ['offset', random.chance(0.5) ? '64' : random.pick(NUMBERS)],
      ['length', random.chance(0.5) ? '64' : random.pick(NUMBERS)],
    ] as const;
    const kept = entries.filter(() => !random.chance(0.1));
    const again = random.chance(0.1) ? [random.pick(entries)] : [];
    return { dims: [random.pick([16, 16, 16, 0, -1, 2 ** 40])], entries: [...kept, ...again] };
  });
}

function modelOf(tensors: readonly DrawnTensor[]): Uint8Array {
  const initializer = tensors.map(({ dims, entries }, i) =>
    create(TensorProtoSchema, {
      ...{ name: `tensor ${i}`, dataType: DataType.FLOAT, dataLocation: DataLocation.EXTERNAL },
      dims: dims.map(BigInt),
      externalData: entries.map(([key, value]) =>
        create(StringStringEntryProtoSchema, { key, value }),
      ),
    }),
  );
  const node = [create(NodeProtoSchema, { opType: 'Identity', input: ['x'], output: ['y'] })];
  const graph = create(GraphProtoSchema, { node, initializer });
  return toBinary(ModelProtoSchema, create(ModelProtoSchema, { graph }));
}
