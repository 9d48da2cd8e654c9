/** What a hub answers: the commit, pages of the list of files, and the files; over a cache in a folder. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { join, sep } from 'node:path';
import { create, toBinary } from '@bufbuild/protobuf';
import { fetchModel } from '@lowbit-kv/model-onnx';
import {
  TensorProto_DataLocation as DataLocation,
  GraphProtoSchema,
  ModelProtoSchema,
  NodeProtoSchema,
  StringStringEntryProtoSchema,
  TensorProtoSchema,
} from 'onnx-buf';
import { mutateJson } from '../mutate/json.js';
import { mustHold, parsedJson, type Target } from '../target.js';
import { Scratch } from './scratch.js';

const NAME = 'somebody/tiny';
const COMMIT = 'c'.repeat(40);
const ENDPOINT = 'http://127.0.0.1:1';
/** In place of a hash or size: what is true. */
const TRUE = 'true';

const file = (path: string, lfs = false) => ({
  ...{ type: 'file', path, size: TRUE, oid: TRUE },
  ...(lfs ? { lfs: { oid: TRUE, size: TRUE, pointerSize: 130 } } : {}),
});

/** `next`: the page that the answer links to. `location`: where the model says that its weights are. */
const SCRIPT = {
  info: { status: 200, body: { _id: '1', id: NAME, sha: COMMIT } },
  pages: [
    {
      ...{ status: 200, next: 1 },
      body: [{ type: 'directory', path: 'onnx', size: 0, oid: '0' }, file('config.json')],
    },
    { status: 200, next: null, body: [file('onnx/model.onnx', true), file('onnx/data', true)] },
  ],
  location: 'data',
  files: {
    'config.json': { status: 200, text: '{"model_type":"llama"}' },
    'onnx/data': { status: 200, text: 'weights'.repeat(20) },
  },
};

export const hub: Target = {
  name: 'hub',
  codes: ['MODEL_DOWNLOAD', 'MODEL_INVALID'],
  async open() {
    const scratch = new Scratch('hub');
    const realFetch = globalThis.fetch;
    return {
      mutant: (random) => mutateJson(random, SCRIPT),
      async check(mutant) {
        const script = parsedJson(mutant)?.value;
        const hubOf = new ScriptedHub(script);
        globalThis.fetch = (input) =>
          hubOf.answer(String(input instanceof Request ? input.url : input));
        const options = { endpoint: ENDPOINT, cacheDir: join(scratch.folder, 'cache') };
        try {
          const model = await fetchModel(NAME, { ...options, retries: 0, timeout: 5000 });
          const inside = realpathSync(scratch.folder) + sep;
          mustHold(realpathSync(model.folder).startsWith(inside), 'a folder outside the cache');
          for (const { path, size } of model.files) {
            const place = join(model.folder, path);
            mustHold(existsSync(place), `${path} is missing`);
            mustHold(realpathSync(place).startsWith(inside), `${path} is outside the cache`);
            const bytes = readFileSync(place);
            mustHold(bytes.length === size, `${path} has another size`);
            const sent = hubOf.bytesOf(path) ?? Buffer.of();
            mustHold(sent.equals(bytes), `${path} has other bytes`);
          }
        } finally {
          globalThis.fetch = realFetch;
          scratch.mustBeInside();
          scratch.clear();
        }
      },
      close: async () => scratch.remove(),
    };
  },
};

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {};

/** Answers as the script says, whatever it is. */
class ScriptedHub {
  readonly #script: Fields;

  constructor(script: unknown) {
    this.#script = fieldsOf(script);
  }

  async answer(address: string): Promise<Response> {
    const url = new URL(address);
    const [, kind, rest = ''] =
      /^\/(?:api\/models\/)?somebody\/tiny\/(revision|tree|resolve)\/(.*)$/.exec(url.pathname) ??
      [];
    if (url.origin !== ENDPOINT) return new Response('', { status: 404 });
    if (kind === 'revision') return this.#json(fieldsOf(this.#script.info), {});
    if (kind === 'tree') return this.#page(Number(url.searchParams.get('page') ?? 0));
    const path = decodeURIComponent(rest.slice(rest.indexOf('/') + 1));
    const { status } = fieldsOf(fieldsOf(this.#script.files)[path]);
    const bytes = this.bytesOf(path);
    if (bytes === null) return new Response('', { status: 404 });
    return new Response(new Uint8Array(bytes), { status: statusOf(status) });
  }

  /** Null for a file that the script does not have. */
  bytesOf(path: string): Buffer | null {
    if (path.endsWith('.onnx')) return modelNaming(String(this.#script.location));
    const { text } = fieldsOf(fieldsOf(this.#script.files)[path]);
    return text === undefined ? null : Buffer.from(String(text));
  }

  #page(number: number): Response {
    const pages = Object.values(fieldsOf(this.#script.pages));
    const page = fieldsOf(pages[number] ?? pages.at(-1));
    const link = `<${ENDPOINT}/api/models/${NAME}/tree/${COMMIT}?page=${page.next}>; rel="next"`;
    const more = page.next === null || page.next === undefined ? {} : { link };
    return this.#json({ ...page, body: this.#withTruth(page.body, '') }, more);
  }

  /** Puts true sizes and hashes in. */
  #withTruth(value: unknown, path: string): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#withTruth(item, path));
    if (typeof value !== 'object' || value === null) return value;
    const own = fieldsOf(value);
    const at = typeof own.path === 'string' ? own.path : path;
    const bytes = this.bytesOf(at) ?? Buffer.from('');
    const isLfs = own.pointerSize !== undefined;
    const truth: Fields = {
      size: bytes.length,
      oid: isLfs
        ? createHash('sha256').update(bytes).digest('hex')
        : createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex'),
    };
    return Object.fromEntries(
      Object.entries(own).map(([name, said]) => [
        name,
        said === TRUE ? truth[name] : this.#withTruth(said, at),
      ]),
    );
  }

  #json({ status, body }: Fields, headers: Record<string, string>): Response {
    return new Response(JSON.stringify(body) ?? '', { status: statusOf(status), headers });
  }
}

/** What a Response can have besides no body. */
function statusOf(status: unknown): number {
  const number = typeof status === 'number' && Number.isInteger(status) ? status : 200;
  return number < 200 || number > 599 || [204, 205, 304].includes(number) ? 500 : number;
}

function modelNaming(location: string): Buffer {
  const entry = create(StringStringEntryProtoSchema, { key: 'location', value: location });
  const initializer = [
    create(TensorProtoSchema, { dataLocation: DataLocation.EXTERNAL, externalData: [entry] }),
  ];
  const node = [create(NodeProtoSchema, { opType: 'Identity', input: ['x'], output: ['y'] })];
  const graph = create(GraphProtoSchema, { node, initializer });
  return Buffer.from(toBinary(ModelProtoSchema, create(ModelProtoSchema, { graph })));
}
