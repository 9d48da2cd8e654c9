// Prints `N passed, N failed` from vitest's JSON reports; exits 1 when anything failed.
import { readFileSync } from 'node:fs';

/**
 * A file that could not be loaded has no tests of its own: it counts as one failure, as does a
 * report that vitest never wrote.
 */
function count(reportPath) {
  const text = readFileSync(reportPath, 'utf8');
  if (text === '') return { passed: 0, failed: 1, skipped: 0 };
  const report = JSON.parse(text);
  const filesWithoutTests = report.testResults.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
  );
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + filesWithoutTests.length,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

const counts = process.argv.slice(2).map(count);
const sum = (kind) => counts.reduce((total, one) => total + one[kind], 0);
const skipped = sum('skipped');
console.log(
  `${sum('passed')} passed, ${sum('failed')} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`,
);
process.exitCode = sum('failed') > 0 ? 1 : 0;
