/** The top of the page under its title: where things run, what a link said wrongly, and a link to what is in view. */
import { useState } from 'preact/hooks';
import type { Gpu } from './run/gpu.js';
import type { Change, Settings } from './settings.js';
import { Choice } from './view/panel.js';
import { visible } from './view/text.js';

export interface PageHeadProps {
  readonly gpu: Gpu | null;
  readonly settings: Settings;
  readonly change: Change;
  readonly notes: readonly string[];
}

const BACKENDS = [
  ['webgpu', 'WebGPU'],
  ['reference', 'CPU'],
] as const;

export function PageHead({ gpu, settings, change, notes }: PageHeadProps) {
  const [copied, setCopied] = useState('');
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      setCopied('Copied.');
    } catch {
      setCopied('Copy the address of this page: it holds everything you chose.');
    }
  };
  return (
    <div class="page-head">
      <p class="where" role="status">
        {whereText(gpu, settings)}
      </p>
      <div class="row head-row">
        <Choice
          label="Compute on"
          options={BACKENDS}
          value={gpu?.kind === 'none' ? 'reference' : settings.backend}
          disabled={gpu?.kind === 'ready' ? [] : ['webgpu']}
          choose={(backend) => change({ backend })}
        />
        <button type="button" onClick={copy}>
          Copy a link to this view
        </button>
        <span class="copied" role="status">
          {copied}
        </span>
      </div>
      {notes.length > 0 && (
        <ul class="notes">
          {notes.map((note) => (
            <li key={note}>{visible(note)}</li>
          ))}
        </ul>
      )}
    </div>
  );
}

function whereText(gpu: Gpu | null, { backend }: Settings): string {
  if (gpu === null) return 'Looking for a GPU.';
  if (gpu.kind === 'none')
    return `Everything runs on the CPU, in the reference backend, because ${visible(gpu.reason)}.`;
  return backend === 'webgpu'
    ? `Everything runs on WebGPU: ${visible(gpu.device)}. The CPU reference runs beside it, to compare bytes and times.`
    : `Everything runs on the CPU, in the reference backend, as you chose. WebGPU is there too: ${visible(gpu.device)}.`;
}
