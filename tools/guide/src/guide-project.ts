/**
 * A project folder as the reader of a guide has it, but offline: what `npm install` would bring is linked from the workspace,
 * whose sources run unbuilt.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const toolRoot = fileURLToPath(new URL('..', import.meta.url));
const repositoryRoot = join(toolRoot, '../..');
const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
const CONDITION = '@lowbit-kv/source';
/** Node options under which sources run. npm and others start quicker without them. */
const FROM_SOURCES = `--conditions=${CONDITION} --import=${tsx}`;

const VITEST_CONFIG = 'node_modules/.bin/vitest-config.mjs';

/** Commands of packages: scripts from their roots, options of node before them and arguments after the others. */
const BINS: Readonly<
  Record<string, { readonly script: string; readonly options?: string; readonly also?: string }>
> = {
  'lowbit-kv': { script: 'src/main.ts', options: FROM_SOURCES },
  publint: { script: 'src/cli.js' },
  vitest: { script: 'vitest.mjs', also: `--root . --config ${VITEST_CONFIG}` },
};

interface Manifest {
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

export class GuideProject {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true });
    writeFileSync(join(this.folder, path), text);
  }

  /** What its manifest needs. */
  install(): void {
    const manifest: Manifest = readJson(join(this.folder, 'package.json'));
    const needed = { ...manifest.peerDependencies, ...manifest.devDependencies };
    for (const name of Object.keys(needed)) this.installFromWorkspace(name);
  }

  /** A package that the manifest of this tool names. */
  installFromWorkspace(name: string): void {
    this.#link(name, join(toolRoot, 'node_modules', name));
    const bin = BINS[name];
    if (bin === undefined) return;
    const script = `"${join(toolRoot, 'node_modules', name, bin.script)}" "$@" ${bin.also ?? ''}`;
    this.write(
      `node_modules/.bin/${name}`,
      `#!/bin/sh\nexec node ${bin.options ?? ''} ${script}\n`,
    );
    if (name === 'vitest') this.#configureVitest();
    run(this.folder, `chmod +x node_modules/.bin/${name}`);
  }

  /** The tarball of another project, unpacked. */
  installTarball(name: string, tarball: string): void {
    const target = join(this.folder, 'node_modules', name);
    mkdirSync(target, { recursive: true });
    run(target, `tar -xzf "${tarball}" --strip-components=1`);
    // npm would install the peers of a package beside it.
    const { peerDependencies = {} }: Manifest = readJson(join(target, 'package.json'));
    for (const peer of Object.keys(peerDependencies)) this.installFromWorkspace(peer);
  }

  /** What the command prints on both streams. Throws unless it ends with 0. */
  run(command: string): string {
    return run(this.folder, command);
  }

  #link(name: string, target: string): void {
    const link = join(this.folder, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(target, link);
  }

  /** Vitest resolves packages by itself and needs to be told of the condition too. */
  #configureVitest(): void {
    const conditions = [CONDITION, 'module', 'node', 'import', 'default'];
    const config = {
      resolve: { conditions },
      ssr: { resolve: { conditions, externalConditions: conditions } },
    };
    this.write(VITEST_CONFIG, `export default ${JSON.stringify(config)};\n`);
  }
}

function run(folder: string, command: string): string {
  const { FORCE_COLOR: _forceColor, ...inherited } = process.env;
  const { status, stdout, stderr, error } = spawnSync('sh', ['-c', command], {
    cwd: folder,
    encoding: 'utf8',
    env: {
      ...inherited,
      NO_COLOR: '1',
      ...(command.startsWith('node ') ? { NODE_OPTIONS: FROM_SOURCES } : {}),
      TSX_TSCONFIG_PATH: join(repositoryRoot, 'tsconfig.base.json'),
      npm_config_offline: 'true',
    },
  });
  if (error !== undefined) throw error;
  if (status === 0) return stdout + stderr;
  throw new Error(`${command} ended with ${status}\n${stdout}${stderr}`);
}

function readJson(path: string): Manifest {
  return JSON.parse(readFileSync(path, 'utf8'));
}
