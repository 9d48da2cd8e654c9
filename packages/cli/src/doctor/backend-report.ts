/**
 * Which backends can start here, and why not. Native code is loaded in a child process: it may end the process.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BackendProbe, referenceBackend } from '@lowbit-kv/core';
import { ownDirectory } from '../manifest.js';
import { locatePackageRoot } from '../schemes/locate-module.js';

export interface BackendReport {
  readonly id: string;
  readonly required: boolean;
  readonly device: string | null;
  /** Null when the backend can start. */
  readonly reason: string | null;
  readonly next: string | null;
}

export interface OnnxRuntimeReport {
  readonly installed: boolean;
  readonly version: string | null;
  readonly path: string | null;
  readonly loads: boolean;
}

const RUNTIME = 'onnxruntime-node';
const PROBE_MILLISECONDS = 20_000;
const ONNX_PROBE = `
const { onnxBackend } = await import(process.argv[1]);
process.stdout.write(JSON.stringify(await onnxBackend().probe()));
`;
const WEBGPU_PROBE = `
const { openNodeGpu } = await import(process.argv[1]);
const answer = await openNodeGpu().then(
  ({ backend }) => backend.probe(),
  (error) => {
    if (error.code !== 'PEER_MISSING' && error.code !== 'BACKEND_UNAVAILABLE') throw error;
    return { ok: false, reason: error.summary, next: error.next };
  },
);
process.stdout.write(JSON.stringify(answer), () => process.exit(0));
`;
const CUDA_PROBE = `
const { probe } = await import(process.argv[1]);
process.stdout.write(JSON.stringify(await probe()));
`;

export async function examineBackends(): Promise<{
  backends: BackendReport[];
  onnxRuntime: OnnxRuntimeReport;
}> {
  const reference = report('reference', true, await referenceBackend().probe());
  const probe = probeInChild('@lowbit-kv/backend-onnx', ONNX_PROBE, RUNTIME);
  const gpu = probeInChild('@lowbit-kv/backend-webgpu/node', WEBGPU_PROBE, 'webgpu');
  const cuda = probeInChild('@lowbit-kv/backend-cuda', CUDA_PROBE, 'koffi');
  const root = runtimeRoot();
  return {
    backends: [
      reference,
      report('onnx', false, probe),
      report('webgpu', false, gpu),
      report('cuda', false, cuda),
    ],
    onnxRuntime: {
      installed: root !== undefined,
      version: root === undefined ? null : versionAt(root),
      path: root ?? null,
      loads: probe.ok,
    },
  };
}

function report(id: string, required: boolean, probe: BackendProbe): BackendReport {
  return probe.ok
    ? { id, required, device: probe.device, reason: null, next: null }
    : { id, required, device: null, reason: probe.reason, next: probe.next };
}

/** Runs `script` on `module`; `runtime` is the package whose native code may fail. */
function probeInChild(module: string, script: string, runtime: string): BackendProbe {
  const child = spawnSync(
    process.execPath,
    [...process.execArgv, '--input-type=module', '--eval', script, import.meta.resolve(module)],
    { encoding: 'utf8', timeout: PROBE_MILLISECONDS },
  );
  const failure = (reason: string): BackendProbe => ({
    ok: false,
    reason,
    next: `npm install --ignore-scripts ${runtime}`,
  });
  if (child.error !== undefined) return failure(`the probe did not run: ${child.error.message}`);
  if (child.signal !== null)
    return failure(`loading ${runtime} ended the process (${child.signal})`);
  if (child.status !== 0) {
    const lines = child.stderr.trim().split('\n');
    const telling = lines.find((line) => /Error/.test(line)) ?? lines.at(-1);
    return failure(`the probe failed: ${telling ?? `exit code ${child.status}`}`);
  }
  return JSON.parse(child.stdout);
}

/** The runtime as the backend package sees it. */
function runtimeRoot(): string | undefined {
  const backend = locatePackageRoot('@lowbit-kv/backend-onnx', ownDirectory());
  return locatePackageRoot(RUNTIME, backend ?? ownDirectory());
}

function versionAt(root: string): string {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version;
}
