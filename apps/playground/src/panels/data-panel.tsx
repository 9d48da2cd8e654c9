/** Panel 1: which numbers everything else is about. */
import { RECIPE_RANGES, type SyntheticRecipe } from '../data/synthetic.js';
import type { Scene } from '../scene.js';
import { Choice, Panel, Select, Slider } from '../view/panel.js';
import { count, visible } from '../view/text.js';

export interface DataPanelProps {
  readonly scene: Scene;
  readonly fault: string | null;
  readonly busy: boolean;
  readonly file: File | null;
  readonly takeFile: (file: File) => void;
}

const SOURCES = [
  ['shipped', 'A real model'],
  ['synthetic', 'Generated'],
  ['file', 'Your capture'],
] as const;

export function DataPanel({ scene, fault, busy, file, takeFile }: DataPanelProps) {
  const { settings, change, selection, data } = scene;
  const heads = data?.sizes.kvHeads ?? 1;
  return (
    <Panel
      id="data"
      number={1}
      title="Data"
      lead="For every token it has read, a language model keeps a row of keys and a row of values in each layer: this is the memory that quantization shrinks."
      busy={busy}
    >
      <Choice
        label="Where the numbers come from"
        options={SOURCES}
        value={settings.data}
        choose={(source) => change({ data: source })}
      />
      <div class="source">
        {settings.data === 'file' && <FileChoice file={file} takeFile={takeFile} />}
        {settings.data === 'synthetic' ? <RecipeSliders scene={scene} /> : <Facts scene={scene} />}
      </div>
      <p class="fault" role="alert">
        {fault === null ? '' : visible(fault)}
      </p>
      <div class="row">
        <Select
          label="Layer"
          value={String(selection.layer)}
          options={(data?.layers ?? [selection.layer]).map((n) => [String(n), `Layer ${n}`])}
          choose={(text) => change({ layer: Number(text) })}
        />
        <Select
          label="Head"
          value={String(selection.kvHead)}
          options={Array.from({ length: heads }, (_, n) => [String(n), `Head ${n}`])}
          choose={(text) => change({ kvHead: Number(text) })}
        />
        <p class="beside">
          {data === null
            ? 'Reading the numbers.'
            : `${count(data.sizes.tokens, 'token')}, ${count(data.sizes.kvHeads, 'head')} of keys and values, ${data.sizes.keyHeadDim} channels in each, ${count(data.sizes.queryHeads, 'query head')}.`}
        </p>
      </div>
    </Panel>
  );
}

function Facts({ scene: { data } }: { readonly scene: Scene }) {
  return (
    <dl class="facts">
      {(data?.facts ?? []).map(([name, text]) => (
        <div key={name}>
          <dt>{visible(name)}</dt>
          <dd>{visible(text)}</dd>
        </div>
      ))}
    </dl>
  );
}

function RecipeSliders({ scene: { settings, change } }: { readonly scene: Scene }) {
  const names = Object.keys(RECIPE_RANGES) as (keyof SyntheticRecipe)[];
  return (
    <div class="sliders">
      {names.map((name) => (
        <Slider
          key={name}
          {...RECIPE_RANGES[name]}
          value={settings.synthetic[name]}
          change={(value) => change({ synthetic: { ...settings.synthetic, [name]: value } })}
        />
      ))}
    </div>
  );
}

function FileChoice({ file, takeFile }: Pick<DataPanelProps, 'file' | 'takeFile'>) {
  return (
    <div class="drop">
      <label>
        <span class="drop-title">
          {file === null
            ? 'Choose a capture, or drop one anywhere on this page'
            : visible(file.name)}
        </span>
        <input
          type="file"
          accept=".safetensors"
          onChange={({ currentTarget }) => {
            const [chosen] = currentTarget.files ?? [];
            if (chosen !== undefined) takeFile(chosen);
          }}
        />
      </label>
      <p class="hint">
        A safetensors file that <code>lowbit-kv capture</code> wrote. It is read here and sent
        nowhere.
      </p>
    </div>
  );
}
