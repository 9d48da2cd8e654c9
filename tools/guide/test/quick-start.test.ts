// docs/quick-start.md is a program: its files are written, its commands run, and they print what it says.
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { defaultCapturePath } from '../../../packages/harness/src/default-capture.js';
import { followGuide } from '../src/follow-guide.js';
import { GuideProject } from '../src/guide-project.js';
import { guideSteps } from '../src/guide-steps.js';
import { Registry } from '../src/registry.js';

const markdown = readFileSync(new URL('../../../docs/quick-start.md', import.meta.url), 'utf8');
const steps = guideSteps(markdown);
const work = mkdtempSync(join(tmpdir(), 'lowbit-kv-quick-start-'));
afterAll(() => rmSync(work, { recursive: true }));

test('from an empty folder to a report, and a scheme of the reader', {
  timeout: 300_000,
}, async () => {
  const project = new GuideProject(
    join(work, 'project'),
    await Registry.open(join(work, 'registry')),
  );
  project.write('package.json', '{ "type": "module" }');
  const executed = followGuide(steps, {
    write: (path, text) => project.write(path, text),
    run(command) {
      const [, names] = /^npm install (.*)$/.exec(command) ?? [];
      if (names !== undefined) {
        for (const name of names.split(' ')) project.install(name);
        return '';
      }
      // The capture of the reader: the one that comes along stands in for it.
      if (command.includes('my-model.safetensors'))
        cpSync(defaultCapturePath(), join(project.folder, 'my-model.safetensors'));
      return project.run(command);
    },
  });
  expect(executed).toHaveLength(5);
  for (const name of ['report.json', 'report.csv', 'report.md', 'report.html'])
    expect(readFileSync(join(project.folder, 'report', name), 'utf8')).toContain('kivi-4bit-g32');
});
