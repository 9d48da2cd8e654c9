/** Reports of `compare --json` and `eval --json`, as `diff` reads them; and as pages, where they are accepted. */
import { canonicalJson, createLowbitKv } from '@lowbit-kv/core';
import {
  compareSchemes,
  diffReports,
  formatDiff,
  openCapture,
  parseReport,
} from '@lowbit-kv/harness';
import { renderCsv, renderMarkdown, renderPage } from '@lowbit-kv/report';
import { writeTinyCapture } from '../../../../packages/cli/test/support/tiny-capture.js';
import {
  evaluateFake,
  FOUR,
  TWO,
} from '../../../../packages/harness/test/support/fake-evaluation.js';
import { mutateJson } from '../mutate/json.js';
import { mustHold, parsedJson, type Target } from '../target.js';
import { Scratch } from './scratch.js';

export const report: Target = {
  name: 'report',
  codes: ['OPTION_INVALID', 'MEASUREMENT_INVALID'],
  async open() {
    const seeds = await exampleReports();
    return {
      mutant: (random) => mutateJson(random, random.pick(seeds)),
      async check(mutant) {
        const said = parsedJson(mutant);
        if (said === null) return;
        const read = parseReport(said.value, 'report.json');
        mustHold(
          canonicalJson(read) === canonicalJson(said.value),
          'another report than was given',
        );
        const diff = diffReports(read, read);
        mustHold(
          diff.differences.data.length + diff.onlyBefore.length + diff.onlyAfter.length === 0,
          'a report differs from itself',
        );
        const outcomes = diff.rows.flatMap(({ figures }) => figures.map(({ outcome }) => outcome));
        mustHold(
          outcomes.every((outcome) => outcome === 'same' || outcome === 'unknown'),
          'a figure differs from itself',
        );
        mustHold(typeof formatDiff(diff) === 'string', 'a diff that is no text');
        const files = [renderCsv(read), renderMarkdown(read), renderPage(read)];
        mustHold(
          files.every((text) => typeof text === 'string'),
          'a file that is no text',
        );
      },
    };
  },
};

/** Small ones of both commands, as JSON gives them back. */
export async function exampleReports(): Promise<unknown[]> {
  const scratch = new Scratch('report');
  const file = scratch.write('capture.safetensors', '');
  await writeTinyCapture(file);
  const capture = await openCapture(file);
  const kv = createLowbitKv({ schemes: [FOUR, TWO] });
  const compared = await compareSchemes({
    capture,
    schemes: kv.schemes.list(),
    backend: kv.backends.get('reference'),
    calibrations: {},
    positions: 2,
  });
  await capture.close();
  scratch.remove();
  const evaluated = await evaluateFake();
  return JSON.parse(JSON.stringify([compared, evaluated]));
}
