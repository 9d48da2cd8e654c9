/**
 * A project folder as the reader of a guide has it, but offline: what `npm install` would bring comes from a registry of this
 * machine.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { link, type Registry, readManifest } from './registry.js';

export class GuideProject {
  readonly folder: string;
  readonly #registry: Registry;

  constructor(folder: string, registry: Registry) {
    this.folder = folder;
    this.#registry = registry;
    mkdirSync(folder, { recursive: true });
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true });
    writeFileSync(join(this.folder, path), text);
  }

  /** What its manifest needs. */
  installAll(): void {
    const { peerDependencies, devDependencies } = readManifest(this.folder);
    for (const name of Object.keys({ ...peerDependencies, ...devDependencies })) this.install(name);
  }

  install(name: string): void {
    const installed = join(this.folder, 'node_modules', name);
    link(installed, this.#registry.locate(name));
    const { bin = {} } = readManifest(installed);
    const commands = typeof bin === 'string' ? { [name]: bin } : bin;
    for (const [command, script] of Object.entries(commands)) {
      const path = `node_modules/.bin/${command}`;
      this.write(path, `#!/bin/sh\nexec node "${join(installed, script)}" "$@"\n`);
      chmodSync(join(this.folder, path), 0o755);
    }
  }

  /** The tarball of another project, unpacked. */
  installTarball(name: string, tarball: string): void {
    const target = join(this.folder, 'node_modules', name);
    mkdirSync(target, { recursive: true });
    run(target, `tar -xzf "${tarball}" --strip-components=1`);
    // npm would install the peers of a package beside it.
    const { peerDependencies = {} } = readManifest(target);
    for (const peer of Object.keys(peerDependencies)) this.install(peer);
  }

  /** What the command prints on both streams. Throws unless it ends with 0. */
  run(command: string): string {
    return run(this.folder, command);
  }
}

function run(folder: string, command: string): string {
  const { FORCE_COLOR: _forceColor, ...inherited } = process.env;
  const { status, stdout, stderr, error } = spawnSync('sh', ['-c', command], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...inherited, NO_COLOR: '1', npm_config_offline: 'true' },
  });
  if (error !== undefined) throw error;
  if (status === 0) return stdout + stderr;
  throw new Error(`${command} ended with ${status}\n${stdout}${stderr}`);
}
