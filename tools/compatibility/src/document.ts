// docs/compatibility.md as it should be: the tables come from the golden comparisons of the scheme packages.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { fillParts, markdownTable } from '../../../packages/core/scripts/generated-parts.js';
import type { AcceptanceRow, Share } from '../../../packages/core/test/support/acceptance.js';
import { acceptance as innerq } from '../../../packages/scheme-innerq/test/golden/acceptance.js';
import { acceptance as kivi } from '../../../packages/scheme-kivi/test/golden/acceptance.js';
import {
  errors,
  acceptance as oaken,
} from '../../../packages/scheme-oaken/test/golden/acceptance.js';

export const documentPath = fileURLToPath(
  new URL('../../../docs/compatibility.md', import.meta.url),
);

export async function acceptanceRows(): Promise<AcceptanceRow[]> {
  return [...(await kivi()), ...(await innerq()), ...(await oaken())];
}

export async function compatibilityDocument(rows: readonly AcceptanceRow[]): Promise<string> {
  const parts = new Map([
    ['acceptance', acceptanceTable(rows)],
    ['oaken-errors', await errorTable()],
  ]);
  return fillParts(readFileSync(documentPath, 'utf8'), parts);
}

function acceptanceTable(rows: readonly AcceptanceRow[]): string {
  const cell = (share: Share | null) =>
    share === null
      ? ''
      : share.equal === share.of
        ? `all ${share.of}`
        : `${share.equal} of ${share.of}`;
  return markdownTable(
    ['scheme', 'mode', 'compared', 'codes equal', 'parameters equal', 'decoded equal'],
    rows.map(({ scheme, mode, compared, codes, parameters, decoded }) => [
      scheme,
      mode,
      compared,
      cell(codes),
      cell(parameters),
      cell(decoded),
    ]),
  );
}

async function errorTable(): Promise<string> {
  const rows = await errors();
  return markdownTable(
    ['case', 'tokens left out', 'artifact', '`sm`, per token', '`mm`, per token'],
    rows.map(({ key, skipped, original, sm, mm }) => [
      `\`${key}\``,
      skipped,
      ...[original, sm, mm].map((error) => error.toFixed(4)),
    ]),
  );
}
