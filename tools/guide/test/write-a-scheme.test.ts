// docs/write-a-scheme.md is a program: its files are written, its commands run, and they print what it says.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { followGuide } from '../src/follow-guide.js';
import { GuideProject } from '../src/guide-project.js';
import { guideSteps } from '../src/guide-steps.js';
import { Registry } from '../src/registry.js';

const markdown = readFileSync(new URL('../../../docs/write-a-scheme.md', import.meta.url), 'utf8');
const steps = guideSteps(markdown);
const work = mkdtempSync(join(tmpdir(), 'lowbit-kv-guide-'));
afterAll(() => rmSync(work, { recursive: true }));

const NAME = 'lowbit-kv-scheme-centred';

test('the guide is read whole: every block is a file, commands or what they print', () => {
  expect(markdown.match(/^```\w/gm)).toHaveLength(
    steps.length + (markdown.match(/^```text$/gm) ?? []).length,
  );
  const paths = steps.flatMap((step) => (step.kind === 'file' ? [step.path] : []));
  expect(new Set(paths)).toEqual(
    new Set([
      ...['package.json', 'src/index.js', 'test/contract.test.js'],
      ...['src/channel-means.js', 'use.js'],
    ]),
  );
});

test('from an empty folder to a package that others find', { timeout: 300_000 }, async () => {
  const registry = await Registry.open(join(work, 'registry'));
  const author = new GuideProject(join(work, NAME), registry);
  const user = new GuideProject(join(work, 'user'), registry);
  let tarball: string | undefined;

  /** Runs a command as written; what needs a registry is done with what lies here. */
  const execute = (command: string): string => {
    switch (command) {
      case 'npm install':
        author.installAll();
        return '';
      case 'npm publish':
        author.run(`npm pack --pack-destination "${work}"`);
        tarball = readdirSync(work).find((file) => file.endsWith('.tgz'));
        return '';
      case `npm install lowbit-kv ${NAME}`:
        if (tarball === undefined) throw new Error('installed before it was published');
        user.install('lowbit-kv');
        user.installTarball(NAME, join(work, tarball));
        return '';
      default:
        return (tarball === undefined ? author : user).run(command);
    }
  };

  const executed = followGuide(steps, {
    write: (path, text) => author.write(path, text),
    run: execute,
    look(commands, output) {
      if (commands[0] === 'npm test')
        expect(output).toContainEqual(expect.stringMatching(/Tests [1-9]\d* passed/));
    },
  });
  expect(executed).toHaveLength(10);
});
