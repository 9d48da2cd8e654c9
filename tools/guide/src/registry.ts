/**
 * What the registry would give: packages of this repository, bundled as they are published, and what they depend on.
 */
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/** Holds the packages that the reader of a guide installs, as links. */
const installed = fileURLToPath(new URL('../node_modules', import.meta.url));

export interface Manifest {
  readonly version: string;
  readonly files?: readonly string[];
  readonly bin?: string | Readonly<Record<string, string>>;
  readonly exports?: Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

export function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

/** Links a path to a target, folders of the path included. */
export function link(path: string, target: string): void {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path);
}

export class Registry {
  readonly #modules: string;

  private constructor(modules: string) {
    this.#modules = modules;
  }

  /** Of what the manifest of this tool names, made in an empty folder. */
  static async open(folder: string): Promise<Registry> {
    // Tools treat only code in folders of this name as installed.
    const registry = new Registry(join(folder, 'node_modules'));
    const { devDependencies = {} } = readManifest(dirname(installed));
    await registry.#addAll(devDependencies, installed);
    return registry;
  }

  /** Folder of a package. */
  locate(name: string): string {
    const folder = join(this.#modules, name);
    if (existsSync(folder)) return folder;
    throw new Error(`${name} is not among the development dependencies of this tool`);
  }

  async #addAll(wanted: Readonly<Record<string, string>>, from: string): Promise<void> {
    for (const [name, range] of Object.entries(wanted)) {
      if (existsSync(join(this.#modules, name))) continue;
      const source = join(from, name);
      if (range.startsWith('workspace:')) await this.#publish(name, source);
      // Peers that are optional may be absent.
      else if (existsSync(source)) link(join(this.#modules, name), source);
    }
  }

  async #publish(name: string, source: string): Promise<void> {
    const folder = join(this.#modules, name);
    mkdirSync(folder, { recursive: true });
    const manifest = readManifest(source);
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
    for (const file of manifest.files ?? [])
      if (file !== 'dist' && file !== 'src') link(join(folder, file), join(source, file));
    await build({
      absWorkingDir: source,
      entryPoints: entriesOf(manifest),
      outdir: join(folder, 'dist'),
      outbase: 'src',
      bundle: true,
      splitting: true,
      packages: 'external',
      format: 'esm',
      platform: 'node',
      target: 'node20',
      logLevel: 'warning',
    });
    const { dependencies, peerDependencies } = manifest;
    await this.#addAll({ ...dependencies, ...peerDependencies }, join(source, 'node_modules'));
  }
}

/** Sources of what a package exports and runs. */
function entriesOf({ exports = {}, bin = {} }: Manifest): string[] {
  const built = [...Object.values(exports), ...Object.values(bin)].flatMap((target) => {
    const path = typeof target === 'string' ? target : (target as { default: string }).default;
    return path.endsWith('.js') ? [path] : [];
  });
  return built.map((path) => path.replace(/^(\.\/)?dist\/(.*)\.js$/, 'src/$2.ts'));
}
