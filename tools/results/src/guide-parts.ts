// Figures of the guides and of the READMEs of schemes, taken from docs/results.md and benchmarks/results: no figure is written twice.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { builtinSchemes } from '../../../packages/cli/src/schemes/builtin-schemes.js';
import { fillParts, markdownTable } from '../../../packages/core/scripts/generated-parts.js';
import { rowOf, type Table, tableIn } from './markdown-tables.js';

const ROOT = new URL('../../../', import.meta.url);
const textOf = (path: string) => readFileSync(new URL(path, ROOT), 'utf8');

export const CUDA_RUN = 'benchmarks/results/2026-12-01-cuda-backend.md';
export const WEBGPU_RUN = 'benchmarks/results/2026-11-30-webgpu-attention.md';
export const MODEL_RUN = 'benchmarks/results/2026-11-30-eval-smollm2.md';

export interface GuideDocument {
  readonly path: string;
  readonly text: string;
}

/** Documents as they should be. */
export async function guideDocuments(): Promise<GuideDocument[]> {
  const shelf = tableIn(textOf('docs/results.md'), 'scheme', 'bits', '', 'packed');
  const model = tableIn(textOf(MODEL_RUN), 'scheme', 'bits', 'packed', 'perplexity');
  const parts = new Map<string, ReadonlyMap<string, string>>([
    ['docs/accuracy-guide.md', accuracyParts(shelf, model)],
    ['docs/performance-guide.md', performanceParts(textOf(CUDA_RUN), textOf(WEBGPU_RUN))],
    ...(await schemeParts(shelf, model)),
  ]);
  return [...parts].map(([path, own]) => ({
    path: fileURLToPath(new URL(path, ROOT)),
    text: fillParts(textOf(path), own),
  }));
}

/** Rows in which the mean and the worst head differ most. */
function accuracyParts(shelf: Table, model: Table): ReadonlyMap<string, string> {
  const [mean, worst, verdict] = ['output nmse', 'worst head', 'verdict'].map((name) =>
    shelf.head.indexOf(name),
  ) as [number, number, number];
  const factor = (row: readonly string[]) => Number(row[worst]) / Number(row[mean]);
  const hidden = shelf.rows.toSorted((a, b) => factor(b) - factor(a)).slice(0, 6);
  const chosen = ['kivi-4bit-g32', 'kivi-2bit-g32', 'innerq-small', 'lowbit-2-3', 'kvquant-4bit'];
  return new Map([
    [
      'hidden',
      markdownTable(
        ['scheme', 'output nmse, mean', 'worst head', 'times the mean', 'verdict'],
        hidden.map((row) => [
          `\`${row[0]}\``,
          ...[row[mean] ?? '', row[worst] ?? '', factor(row).toFixed(0), row[verdict] ?? ''],
        ]),
      ),
    ],
    [
      'model',
      markdownTable(
        model.head.slice(0, 8),
        ['f16', ...chosen].map((id) => rowOf(model, id).slice(0, 8)),
      ),
    ],
  ]);
}

function performanceParts(cuda: string, webgpu: string): ReadonlyMap<string, string> {
  const attention = tableIn(cuda, '', 'burst', 'sustained', 'floor', 'wanted');
  const append = tableIn(cuda, 'append, us a layer of the card');
  const batch = tableIn(webgpu, 'plan', 'floor', 'whole pages', 'public API');
  const one = tableIn(webgpu, 'plan', '8K');
  const f16 = rowOf(batch, 'f16')[3] as string;
  return new Map([
    [
      'cuda',
      markdownTable(
        ['us a layer', 'measured', 'floor', 'of the floor', 'wanted', 'f16 of cuDNN, flash'],
        attention.rows
          .map((row) => row.map((cell) => cell.replaceAll('**', '')))
          .map(([what = '', burst = '', , floor = '', wanted = '', rival = '']) => [
            ...[what, burst, floor, shares(floor, burst), wanted, rival],
          ]),
      ),
    ],
    ['append', markdownTable(append.head, append.rows)],
    [
      'webgpu',
      markdownTable(
        ['us, `fast` / `exact`', 'measured', 'floor', 'f16 takes'],
        batch.rows.map(([plan = '', floor = '', , api = '']) => [
          plan,
          api,
          floor,
          plan === 'f16' ? '' : times(f16, api),
        ]),
      ),
    ],
    ['webgpu-one', markdownTable(['us, `fast` / `exact`', ...one.head.slice(1)], one.rows)],
  ]);
}

/** Numbers of a cell, such as `74.2, 74.7`. */
const numbersOf = (cell: string) =>
  [...cell.matchAll(/\d+(\.\d+)?/g)].map(([text]) => Number(text));

/** The floor as a share of what was measured, for each measured figure. */
function shares(floor: string, measured: string): string {
  const floors = numbersOf(floor);
  return numbersOf(measured)
    .map((time, i) => `${((100 * (floors[i] ?? (floors[0] as number))) / time).toFixed(0)} %`)
    .join(', ');
}

/** How many times as long f16 takes, each figure over that of its column. */
function times(f16: string, measured: string): string {
  const bases = numbersOf(f16);
  return numbersOf(measured)
    .map((time, i) => `${((bases[i] ?? Number.NaN) / time).toFixed(2)}x`)
    .join(' / ');
}

/** For each package of schemes, the rows of its presets. */
async function schemeParts(
  shelf: Table,
  model: Table,
): Promise<[string, ReadonlyMap<string, string>][]> {
  const schemes = await builtinSchemes();
  const f16 = rowOf(model, 'f16');
  return [...new Set(schemes.map(({ source }) => source))].map((source) => {
    const own = schemes.filter((named) => named.source === source);
    const rows = own.flatMap(({ scheme: { id } }) => {
      const measured = shelf.rows.find(([name]) => name === id);
      if (measured === undefined) return [];
      const [, bits = '', , packed = '', key = '', value = '', output = '', worst = ''] = measured;
      const [, , , perplexity = '', divergence = ''] = rowOf(model, id);
      return [[`\`${id}\``, bits, packed, key, value, output, worst, perplexity, divergence]];
    });
    const head = ['preset', 'bits', 'packed', 'K nmse', 'V nmse', 'output nmse', 'worst head'];
    const baseline = ['f16', '16.00', '', '0', '0', '0', '0', f16[3] ?? '', f16[4] ?? ''];
    const table = markdownTable([...head, 'perplexity', 'KL mean'], [baseline, ...rows]);
    const path = `packages/${source.replace('@lowbit-kv/', '')}/README.md`;
    return [path, new Map([['measured', table]])];
  });
}
