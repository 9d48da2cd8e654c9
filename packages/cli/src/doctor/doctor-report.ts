/**
 * What `lowbit-kv doctor` reports. Every part is guarded: one that fails becomes a problem, and the rest still prints.
 */
import { readOwnManifest } from '../manifest.js';
import type { BackendReport, OnnxRuntimeReport } from './backend-report.js';
import type { CoreCopy, PackageReport } from './package-report.js';
import type { SchemeReport } from './scheme-report.js';

export interface DoctorReport {
  readonly reportVersion: 1;
  /** False when something required is broken. */
  readonly ok: boolean;
  readonly node: { readonly version: string; readonly required: string };
  readonly platform: string;
  readonly packages: readonly PackageReport[];
  readonly coreCopies: readonly CoreCopy[];
  readonly schemes: readonly SchemeReport[];
  readonly backends: readonly BackendReport[];
  readonly onnxRuntime: OnnxRuntimeReport | null;
  readonly problems: readonly Problem[];
}

export interface Problem {
  /** `optional`: only what needs this part is affected. */
  readonly severity: 'required' | 'optional';
  readonly what: string;
  /** A command, or what to do. */
  readonly next: string;
}

export async function examine(directory: string): Promise<DoctorReport> {
  const problems: Problem[] = [];
  const guard = async <T>(what: string, fallback: T, examinePart: () => Promise<T>): Promise<T> => {
    try {
      return await examinePart();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      problems.push({ severity: 'required', what: `${what}: ${reason}`, next: REINSTALL });
      return fallback;
    }
  };
  const node = { version: process.versions.node, required: readOwnManifest().engines.node };
  problems.push(...nodeProblems(node));
  const { packages, coreCopies } = await guard(
    'packages cannot be examined',
    { packages: [], coreCopies: [] },
    async () => {
      const { findCoreCopies, findPackages } = await import('./package-report.js');
      const found = findPackages(directory);
      return { packages: found, coreCopies: findCoreCopies(found) };
    },
  );
  problems.push(...packageProblems(packages), ...copyProblems(coreCopies));
  const schemes = await guard('schemes cannot be loaded', [], async () =>
    (await import('./scheme-report.js')).examineSchemes(),
  );
  for (const { id, reason } of schemes) {
    if (reason !== null)
      problems.push({ severity: 'required', what: `scheme ${id}: ${reason}`, next: REINSTALL });
  }
  const { backends, onnxRuntime } = await guard<{
    backends: BackendReport[];
    onnxRuntime: OnnxRuntimeReport | null;
  }>('backends cannot be probed', { backends: [], onnxRuntime: null }, async () =>
    (await import('./backend-report.js')).examineBackends(),
  );
  for (const { id, required, reason, next } of backends) {
    if (reason === null) continue;
    const severity = required ? 'required' : 'optional';
    problems.push({ severity, what: `backend ${id}: ${reason}`, next: next ?? REINSTALL });
  }
  return {
    reportVersion: 1,
    ok: problems.every(({ severity }) => severity === 'optional'),
    node,
    platform: `${process.platform} ${process.arch}`,
    packages,
    coreCopies,
    schemes,
    backends,
    onnxRuntime,
    problems,
  };
}

const REINSTALL = 'npm install lowbit-kv@latest';

/** The range is always `>=major.minor`. */
function nodeProblems({ version, required }: DoctorReport['node']): Problem[] {
  const numbers = (text: string) => text.replace(/^>=/, '').split('.').map(Number);
  const [major = 0, minor = 0] = numbers(version);
  const [wantedMajor = 0, wantedMinor = 0] = numbers(required);
  if (major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)) return [];
  return [
    {
      severity: 'required',
      what: `Node ${version} is older than ${required}`,
      next: 'Install a current Node from https://nodejs.org',
    },
  ];
}

function packageProblems(packages: readonly PackageReport[]): Problem[] {
  return packages
    .filter(({ path }) => path === null)
    .map(({ name }) => ({
      severity: 'required',
      what: `${name} is not installed`,
      next: `npm install ${name}`,
    }));
}

function copyProblems(copies: readonly CoreCopy[]): Problem[] {
  if (copies.length <= 1) return [];
  const list = copies.map(({ version, path }) => `${version} at ${path}`).join(', ');
  return [
    {
      severity: 'optional',
      what: `${copies.length} copies of @lowbit-kv/core are installed (${list}); caches and sequences of one are strangers to the other`,
      next: 'npm dedupe',
    },
  ];
}
