// docs/support-matrix.md as it should be: what `supports` of every backend says of every preset that comes along. No device is asked.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { supportOf as supportOnCuda } from '../../../packages/backend-cuda/src/support.js';
import { onnxBackend } from '../../../packages/backend-onnx/src/index.js';
import { refusals as refusedByWebgpu } from '../../../packages/backend-webgpu/src/refusals.js';
import { codeOrder } from '../../../packages/backend-webgpu/src/shaders/code-order.js';
import { builtinSchemes } from '../../../packages/cli/src/schemes/builtin-schemes.js';
import { planForSizes } from '../../../packages/cli/src/schemes/scheme-summary.js';
import { fillParts, markdownTable } from '../../../packages/core/scripts/generated-parts.js';
import {
  type BackendSupport,
  type Geometry,
  LowbitKvError,
  type Plan,
  referenceBackend,
  type Scheme,
} from '../../../packages/core/src/index.js';

export const matrixPath = fileURLToPath(
  new URL('../../../docs/support-matrix.md', import.meta.url),
);

export const HEAD_DIMS = [64, 96, 128, 256] as const;
export const BACKENDS = ['reference', 'onnx', 'cuda', 'webgpu'] as const;

/** What a backend does with a preset at a head dim. */
export interface Answer {
  /** `refused`, or the word of its column: see the document. */
  readonly word: string;
  /** Why it is refused, or why nothing faster runs it. */
  readonly reasons: readonly string[];
}

export interface MatrixRow {
  readonly scheme: string;
  readonly backend: (typeof BACKENDS)[number];
  /** By head dim, in the order of HEAD_DIMS. */
  readonly answers: readonly Answer[];
}

type Ask = (plan: Plan) => Answer;

/** A card with NVRTC: a codec of CUDA text is compiled there. */
const COMPILER = {
  found: [{ library: 'libnvrtc', version: 13_000, architectures: [90] }],
  failures: new Map(),
} as unknown as ReturnType<Parameters<typeof supportOnCuda>[1]>;

const onnx = onnxBackend();
const reference = referenceBackend();

const ASK: Readonly<Record<(typeof BACKENDS)[number], Ask>> = {
  reference: (plan) => plain(reference.supports(plan)),
  onnx: (plan) => plain(onnx.supports(plan)),
  cuda: (plan) => {
    const support = supportOnCuda(plan, () => COMPILER);
    if (support.kind === 'refused') return plain(support);
    const [layer] = support.kernels;
    return { word: layer?.speed ?? '', reasons: layer?.reasons ?? [] };
  },
  webgpu: (plan) => {
    const reasons = refusedByWebgpu(plan);
    if (reasons.length > 0) return { word: 'refused', reasons };
    const [layer] = plan.layers;
    const isInteger = layer !== undefined && codeOrder(layer) === 'reduction';
    return { word: isInteger ? 'integer' : 'f32', reasons: [] };
  },
};

function plain(support: BackendSupport): Answer {
  return { word: support.kind, reasons: support.kind === 'native' ? [] : support.reasons };
}

export async function matrixRows(): Promise<MatrixRow[]> {
  const shelf = await builtinSchemes();
  return BACKENDS.flatMap((backend) =>
    shelf.map(({ scheme }) => ({
      scheme: scheme.id,
      backend,
      answers: HEAD_DIMS.map((headDim) => answer(scheme, headDim, ASK[backend])),
    })),
  );
}

/** One layer of 32 query heads on 8 kv heads, blocks of the default size. What throws in `ask` is a fault: `supports` answers. */
function answer(scheme: Scheme, headDim: number, ask: Ask): Answer {
  const heads = { layers: 1, queryHeads: 32, kvHeads: 8 };
  const plan = planned(scheme, { ...heads, keyHeadDim: headDim, valueHeadDim: headDim });
  return typeof plan === 'string' ? { word: 'refused', reasons: [plan] } : ask(plan);
}

/** A plan, or why there is none. */
function planned(scheme: Scheme, geometry: Geometry): Plan | string {
  try {
    return planForSizes(scheme, geometry);
  } catch (error) {
    if (!LowbitKvError.is(error)) throw error;
    return error.message.split(';')[0] as string;
  }
}

export function matrixDocument(rows: readonly MatrixRow[]): string {
  const parts = new Map<string, string>(
    BACKENDS.map((backend) => [backend, part(rows.filter((row) => row.backend === backend))]),
  );
  return fillParts(readFileSync(matrixPath, 'utf8'), parts);
}

/** A table whose cells point to the numbered reasons below it: one number for all that is said of a cell. */
function part(rows: readonly MatrixRow[]): string {
  const numbers = new Map<string, number>();
  const cell = ({ word, reasons }: Answer) => {
    if (reasons.length === 0) return word;
    const text = reasons.join('; ');
    const number = numbers.get(text) ?? numbers.size + 1;
    numbers.set(text, number);
    return `${word} (${number})`;
  };
  const table = markdownTable(
    ['preset', ...HEAD_DIMS.map((dim) => `head dim ${dim}`)],
    rows.map(({ scheme, answers }) => [`\`${scheme}\``, ...answers.map(cell)]),
  );
  const reasons = [...numbers].map(([text, number]) => `${number}. ${text}`);
  return reasons.length === 0 ? table : `${table}\n\n${reasons.join('\n')}`;
}
