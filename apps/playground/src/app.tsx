/** The page: choices of the visitor, what is computed for them, and the panels. */
import { type Backend, referenceBackend } from '@lowbit-kv/core';
import { exactAttention } from '@lowbit-kv/harness/browser';
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import { fileCapture, shippedCapture } from './data/captures.js';
import { syntheticData } from './data/synthetic.js';
import { PageHead } from './page-head.js';
import { AttentionPanel } from './panels/attention-panel.js';
import { BytesPanel } from './panels/bytes-panel.js';
import { DataPanel } from './panels/data-panel.js';
import { HeatPanel } from './panels/heat-panel.js';
import { HistogramPanel } from './panels/histogram-panel.js';
import { SchemesPanel } from './panels/schemes-panel.js';
import { SizePanel } from './panels/size-panel.js';
import { WindowPanel } from './panels/window-panel.js';
import { openGpu } from './run/gpu.js';
import { type Scene, type SchemeEntry, selectionOf } from './scene.js';
import { parseCustom } from './schemes/custom.js';
import { PRESETS } from './schemes/presets.js';
import { CUSTOM, type Settings } from './settings.js';
import { linkOf, type ParsedLink } from './share-link.js';
import { useFileDrop } from './use-file-drop.js';
import { useResource } from './use-resource.js';
import { useSchemeEntry } from './use-scheme-entry.js';

export function App({ link }: { readonly link: ParsedLink }) {
  const [settings, setSettings] = useState(link.settings);
  const change = useCallback(
    (changes: Partial<Settings>) => setSettings((before) => ({ ...before, ...changes })),
    [],
  );
  useEffect(() => {
    history.replaceState(null, '', `${location.pathname}${linkOf(settings)}${location.hash}`);
  }, [settings]);

  const [file, setFile] = useState<File | null>(null);
  const takeFile = useCallback((taken: File) => {
    setFile(taken);
    change({ data: 'file' });
  }, []);
  useFileDrop(takeFile);

  const [lost, setLost] = useState<string | null>(null);
  const gpu = useResource(() => openGpu(setLost), []);
  const webgpu = lost === null && gpu.value?.kind === 'ready' ? gpu.value.backend : null;
  const reference = useMemo(referenceBackend, []);
  const onGpu = settings.backend === 'webgpu' && webgpu !== null;
  // Nothing runs before it is known where.
  const backends: readonly Backend[] | null = gpu.pending
    ? null
    : [onGpu ? webgpu : reference, ...(webgpu === null ? [] : [onGpu ? reference : webgpu])];

  const data = useResource(
    () => openData(settings, file),
    [
      settings.data,
      settings.data === 'file' ? file : null,
      settings.data === 'synthetic' ? settings.synthetic : null,
    ],
  );
  const selection = selectionOf(settings, data.value);
  const layer = useResource(
    () => data.value?.readLayer(selection.layer).then((read) => ({ read, of: data.value })) ?? null,
    [data.value, selection.layer],
  );
  // Of the data before, until the new ones are read.
  const read = layer.value?.of === data.value ? (layer.value?.read ?? null) : null;
  const exact = useMemo(
    () =>
      data.value === null || read === null
        ? null
        : exactAttention({ ...read.exact, query: read.query }, data.value.sizes),
    [data.value, read],
  );

  const input = { data: data.value, layer: read, exact, backends };
  const custom = useMemo(() => parseCustom(settings.custom), [settings.custom]);
  const schemeAt = (place: number) => {
    const choice = settings.schemes[place];
    if (choice === CUSTOM) return custom.kind === 'scheme' ? custom.scheme : null;
    return choice === undefined ? undefined : (PRESETS.get(choice) ?? null);
  };
  const entries = [
    useSchemeEntry('A', settings.schemes[0], schemeAt(0), input),
    useSchemeEntry('B', settings.schemes[1], schemeAt(1), input),
    useSchemeEntry('C', settings.schemes[2], schemeAt(2), input),
  ].filter((entry): entry is SchemeEntry => entry !== null);

  const scene: Scene = {
    settings,
    change,
    selection,
    data: data.value,
    layer: read,
    exact,
    entries,
  };
  return (
    <>
      <PageHead
        gpu={lost === null ? gpu.value : { kind: 'none', reason: lost }}
        settings={settings}
        change={change}
        notes={link.notes}
      />
      <DataPanel
        scene={scene}
        fault={data.fault ?? layer.fault}
        busy={data.pending || layer.pending}
        file={file}
        takeFile={takeFile}
      />
      <SchemesPanel scene={scene} />
      <HeatPanel scene={scene} />
      <HistogramPanel scene={scene} />
      <BytesPanel scene={scene} />
      <AttentionPanel scene={scene} />
      <SizePanel scene={scene} />
      <WindowPanel scene={scene} />
    </>
  );
}

function openData(settings: Settings, file: File | null) {
  if (settings.data === 'shipped') return shippedCapture();
  if (settings.data === 'synthetic') return Promise.resolve(syntheticData(settings.synthetic));
  return file === null ? null : fileCapture(file);
}
