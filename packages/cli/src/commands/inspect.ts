/**
 * `lowbit-kv inspect FILE`: what a file of ours is, field by field.
 */
import { resolve } from 'node:path';
import { createPlan, LowbitKvError, type PackedTensorPlan, type Plan } from '@lowbit-kv/core';
import { readCalibrations } from '../calibration-file.js';
import { readGeometry } from '../geometry-option.js';
import { type Facts, inspectJson, unknownFile } from '../inspect/inspect-json.js';
import { openSnapshot, sectionsOf } from '../inspect/inspect-snapshot.js';
import { inspectTensors } from '../inspect/inspect-tensors.js';
import { type InspectedFile, kindOf, openFile } from '../inspect/open-file.js';
import { address, formatPage, type PageView, viewPage } from '../inspect/page-view.js';
import { resolveSchemes } from '../schemes/resolve-schemes.js';
import type { Terminal } from '../terminal.js';
import { textTable } from '../text-table.js';

export interface InspectOptions {
  readonly scheme?: string;
  readonly geometry?: string;
  readonly calibration?: string;
  readonly blockTokens?: number;
  readonly layer?: number;
  readonly tensor?: 'key' | 'value';
  readonly block: number;
  readonly limit: number;
  readonly json?: boolean;
}

export async function inspect(
  terminal: Terminal,
  options: InspectOptions,
  name: string,
): Promise<undefined> {
  const file = await openFile(resolve(terminal.directory, name));
  try {
    const kind = await kindOf(file);
    if (kind === 'snapshot') await showSnapshot(terminal, options, file);
    else if (kind === 'safetensors') await showTensors(terminal, options, file);
    else if (kind === 'json') showFacts(terminal, options, await inspectJson(file));
    else if (options.tensor !== undefined) await showPage(terminal, options, file);
    else throw unknownFile(file, await firstBytes(file), 'a file that begins as one of ours');
  } finally {
    await file.close();
  }
  return;
}

async function showSnapshot(terminal: Terminal, options: InspectOptions, file: InspectedFile) {
  const opened = await openSnapshot(file);
  const { header, payloadOffset, payloadBytes } = opened;
  const plan =
    options.geometry === undefined
      ? null
      : await planOf(terminal, options, options.scheme ?? header.scheme);
  const sections = plan === null ? [] : sectionsOf(file, opened, plan);
  const tensor = options.tensor ?? 'key';
  const packed = sections.filter(
    (section) => section.kind === 'packed' && section.tensor === tensor,
  );
  const section = packed.find(
    ({ unit }) => options.layer === undefined || unit.layer === options.layer,
  );
  let page: PageView | null = null;
  if (plan !== null) {
    if (section === undefined)
      throw noSuch('layer', options.layer ?? null, [
        ...new Set(packed.map(({ unit }) => unit.layer)),
      ]);
    const { unit, pages, pageBytes } = section;
    if (options.block >= pages) throw noSuch('block', options.block, `0 to ${pages - 1}`);
    const offset = section.offset + options.block * pageBytes;
    const tensorPlan = unit[tensor] as PackedTensorPlan;
    page = viewPage(
      {
        ...{ layer: unit.layer, tensor, heads: unit.heads, block: options.block, offset },
        validTokens: header.pages[tensorPlan.class]?.packed[options.block] as number,
        ...{ plan: tensorPlan, page: await file.read(offset, pageBytes), file: file.path },
      },
      options.limit,
    );
  }
  const places = sections.map(({ unit, offset, pages, ...rest }) => ({
    ...{ layer: unit.layer, heads: unit.heads, offset, pages, tensor: rest.tensor },
    ...{ kind: rest.kind, pageBytes: rest.pageBytes },
  }));
  if (options.json === true) {
    const report = { reportVersion: 1, kind: 'snapshot', bytes: file.size, ...opened };
    terminal.print(JSON.stringify({ ...report, sections: places, page }, null, 2));
    return;
  }
  const checked = opened.checksum === null ? 'not checked: the file is large' : 'matches';
  terminal.print(`snapshot of ${header.scheme}, ${file.size} bytes`);
  terminal.print(`plan ${header.fingerprint}`);
  const rows = [
    ['0', '4', 'LBKV'],
    ['4', '4', `version ${opened.version}`],
    ['8', '4', `header length ${opened.headerBytes}`],
    ['12', String(opened.headerBytes), 'header'],
    ...(places.length === 0 ? [[String(payloadOffset), String(payloadBytes), 'pages']] : []),
    ...places.map(({ layer, offset, pages, pageBytes, ...rest }) => [
      String(offset),
      String(pages * pageBytes),
      `layer ${layer} ${rest.tensor}s, ${rest.kind} pages: ${pages} x ${pageBytes}`,
    ]),
    [String(payloadOffset + payloadBytes), '32', `SHA-256, ${checked}`],
  ];
  printTable(terminal, ['offset', 'bytes', 'content'], rows);
  for (const [i, { length, states }] of header.sequences.entries()) {
    const counts = states.map(({ entries }) => `${entries.length} runs`).join(', ');
    terminal.print(`sequence ${i}: ${length} tokens; per page class ${counts}`);
  }
  if (page === null)
    terminal.note('Pages are explained with --geometry (and --scheme, --calibration).');
  else for (const line of ['', ...formatPage(page, terminal.outColors)]) terminal.print(line);
}

/** A page of `exportBlocks`, or several one after another. */
async function showPage(terminal: Terminal, options: InspectOptions, file: InspectedFile) {
  const { scheme, geometry, tensor = 'key', block, limit } = options;
  if (scheme === undefined || geometry === undefined)
    throw unknownFile(file, await firstBytes(file), '--scheme and --geometry beside --tensor');
  const plan = await planOf(terminal, options, scheme);
  const unit = plan.layers.find(({ layer }) => layer === (options.layer ?? 0));
  if (unit === undefined) throw noSuch('layer', options.layer, `0 to ${plan.layers.at(-1)?.layer}`);
  const { layout } = unit[tensor];
  if (layout === null) throw noSuch('tensor', tensor, 'a tensor that is packed, not f16');
  if (file.size === 0 || file.size % layout.pageBytes !== 0)
    throw unknownFile(file, `${file.size} bytes`, `whole pages of ${layout.pageBytes} bytes`);
  const pages = file.size / layout.pageBytes;
  if (block >= pages) throw noSuch('block', block, `0 to ${pages - 1}`);
  const offset = block * layout.pageBytes;
  const page = viewPage(
    {
      ...{ layer: unit.layer, tensor, heads: unit.heads, block, offset, file: file.path },
      ...{ validTokens: layout.blockTokens, plan: unit[tensor] as PackedTensorPlan },
      page: await file.read(offset, layout.pageBytes),
    },
    limit,
  );
  if (options.json === true)
    terminal.print(JSON.stringify({ reportVersion: 1, kind: 'pages', pages, page }, null, 2));
  else for (const line of formatPage(page, terminal.outColors)) terminal.print(line);
}

async function planOf(terminal: Terminal, options: InspectOptions, name: string): Promise<Plan> {
  const geometry = await readGeometry(options.geometry ?? '', terminal.directory);
  const [named, ...others] = await resolveSchemes([name], terminal);
  if (named === undefined || others.length > 0)
    throw noSuch('scheme', name, 'the id of one scheme');
  const { scheme, calibration: brought } = named;
  const calibration =
    options.calibration === undefined
      ? brought
      : (await readCalibrations(resolve(terminal.directory, options.calibration), [scheme]))[
          scheme.id
        ];
  return createPlan(scheme, geometry, {
    ...(calibration === undefined ? {} : { calibration }),
    ...(options.blockTokens === undefined ? {} : { blockTokens: options.blockTokens }),
  });
}

async function showTensors(terminal: Terminal, options: InspectOptions, { path }: InspectedFile) {
  const facts = await inspectTensors(path, options.layer);
  if (options.json === true) {
    terminal.print(JSON.stringify({ reportVersion: 1, ...facts }, null, 2));
    return;
  }
  terminal.print(`${facts.kind}, ${facts.tensors.length} tensors`);
  for (const [key, value] of Object.entries(facts.metadata)) terminal.print(`  ${key}: ${value}`);
  const figure = (x: number | undefined) => (x === undefined ? '' : x.toPrecision(4));
  printTable(
    terminal,
    ['tensor', 'dtype', 'shape', 'offset', 'minimum', 'maximum', 'rms', 'not finite'],
    facts.tensors.map(({ name, dtype, shape, offset, values }) => [
      ...[name, dtype, shape.join(' x '), address(offset), figure(values?.minimum)],
      ...[figure(values?.maximum), figure(values?.rootMeanSquare)],
      values === null ? 'not read' : String(values.notFinite),
    ]),
  );
}

function showFacts(terminal: Terminal, { json }: InspectOptions, facts: Facts): void {
  if (json === true) {
    terminal.print(JSON.stringify({ reportVersion: 1, facts }, null, 2));
    return;
  }
  for (const [name, value] of Object.entries(facts))
    terminal.print(`${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`);
}

function printTable(
  terminal: Terminal,
  titles: readonly string[],
  rows: readonly string[][],
): void {
  for (const line of textTable(
    titles.map((title) => ({ title })),
    rows,
  ))
    terminal.print(line);
}

async function firstBytes(file: InspectedFile): Promise<string> {
  return Buffer.from(await file.read(0, 16)).toString('hex');
}

function noSuch(field: string, value: unknown, valid: string | readonly unknown[]): LowbitKvError {
  return new LowbitKvError('OPTION_INVALID', {
    message: `the file has no such ${field}, or it holds nothing packed`,
    value,
    valid,
    next: `Choose another --${field}.`,
    where: { field },
  });
}
