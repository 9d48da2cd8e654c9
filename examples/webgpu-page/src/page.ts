/**
 * The page: opens the GPU, compares the schemes, and fills the table.
 */
import { webgpuBackend } from '@lowbit-kv/backend-webgpu';
import { kivi2, kivi4 } from '@lowbit-kv/scheme-kivi';
import { compareWithF16, type SchemeResult } from './compare.js';

const TOKENS = 1024;

const status = document.querySelector('#status') as HTMLElement;
const rows = document.querySelector('#rows') as HTMLElement;

async function openDevice(): Promise<GPUDevice> {
  const adapter = await navigator.gpu?.requestAdapter();
  if (!adapter) throw new Error('This browser offers no WebGPU adapter.');
  return adapter.requestDevice();
}

function showRow({ title, bytes, share, error }: SchemeResult): void {
  const row = document.createElement('tr');
  const texts = [
    title,
    bytes.toLocaleString('en'),
    `${(100 * share).toFixed(1)} %`,
    error.toPrecision(2),
  ];
  for (const text of texts) row.insertCell().textContent = text;
  rows.append(row);
}

try {
  const device = await openDevice();
  status.textContent = `Packing ${TOKENS} tokens.`;
  const results = await compareWithF16(webgpuBackend({ device }), [kivi4, kivi2], TOKENS);
  for (const result of results) showRow(result);
  status.textContent = `${TOKENS} tokens on ${device.adapterInfo.description || device.adapterInfo.vendor}.`;
} catch (error) {
  status.textContent = error instanceof Error ? error.message : String(error);
}
document.body.dataset.done = 'true';
