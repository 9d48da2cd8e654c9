/** Panel 2: the schemes that stand side by side, and what they do to this layer. */
import { THRESHOLDS } from '@lowbit-kv/harness/browser';
import { useId } from 'preact/hooks';
import { calibrationTokens } from '../run/scheme-plan.js';
import type { Scene, SchemeEntry } from '../scene.js';
import { textOf } from '../schemes/custom.js';
import { CustomEditor } from '../schemes/custom-editor.js';
import { describeScheme } from '../schemes/describe.js';
import { SHELF } from '../schemes/presets.js';
import { CUSTOM } from '../settings.js';
import { Panel } from '../view/panel.js';
import { figure, millisecondsText, visible, waitingText } from '../view/text.js';

export function SchemesPanel({ scene }: { readonly scene: Scene }) {
  const { settings, change, entries } = scene;
  const { schemes } = settings;
  const set = (place: number, choice: string) => {
    const before = entries[place]?.scheme;
    const start = settings.custom === '' && choice === CUSTOM && before != null;
    change({
      schemes: schemes.map((old, i) => (i === place ? choice : old)),
      ...(start ? { custom: textOf(before) } : {}),
    });
  };
  return (
    <Panel
      id="schemes"
      number={2}
      title="Schemes"
      lead="A scheme says with how few bits each number is written down, and which numbers share a scale; choose two or three and see what is lost."
      busy={entries.some(({ run }) => run.pending)}
    >
      <div class="columns">
        {entries.map((entry, i) => (
          <SchemeCard
            key={entry.letter}
            entry={entry}
            calibrated={scene.data === null ? 0 : calibrationTokens(scene.data.sizes)}
            choose={(choice) => set(i, choice)}
            remove={
              schemes.length > 2
                ? () => change({ schemes: schemes.filter((_, place) => place !== i) })
                : null
            }
          />
        ))}
      </div>
      <p class="hint">
        Errors are the power of what was lost over the power of the numbers: 0 is perfect, 1 is
        noise as strong as the signal. One head that is ruined ruins the layer, so the worst one is
        judged.
      </p>
      <div class="row">
        <button
          type="button"
          disabled={schemes.length === 3}
          onClick={() => change({ schemes: [...schemes, 'kivi-4bit-g32'] })}
        >
          Add a third scheme
        </button>
        <button
          type="button"
          disabled={schemes.includes(CUSTOM)}
          onClick={() => set(schemes.length - 1, CUSTOM)}
        >
          Write your own
        </button>
      </div>
      {schemes.includes(CUSTOM) && <CustomEditor settings={settings} change={change} />}
    </Panel>
  );
}

interface CardProps {
  /** Tokens that a scheme is calibrated on where it asks for that. */
  readonly calibrated: number;
  readonly entry: SchemeEntry;
  readonly choose: (choice: string) => void;
  readonly remove: (() => void) | null;
}

function SchemeCard({ entry, calibrated, choose, remove }: CardProps) {
  const id = useId();
  const { letter, scheme, run } = entry;
  const [keys, values] = scheme === null ? ['', ''] : describeScheme(scheme);
  return (
    <article class={`card scheme-${letter}`}>
      <div class="card-head">
        <span class="letter" aria-hidden="true">
          {letter}
        </span>
        <label class="hidden" for={id}>
          Scheme {letter}
        </label>
        <select
          id={id}
          value={entry.choice}
          onChange={({ currentTarget }) => choose(currentTarget.value)}
        >
          <option value={CUSTOM}>Your own scheme</option>
          {SHELF.map(({ name, presets }) => (
            <optgroup key={name} label={name}>
              {presets.map((preset) => (
                <option key={preset.id} value={preset.id}>
                  {preset.id}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
        {remove !== null && (
          <button
            type="button"
            class="quiet"
            onClick={remove}
            aria-label={`Remove scheme ${letter}`}
          >
            ×
          </button>
        )}
      </div>
      <h3>{visible(scheme?.title ?? 'Your own scheme is not valid yet')}</h3>
      <p class="about">{keys}</p>
      <p class="about">
        {values}
        {scheme?.calibration.kind === 'offline' && ` Calibrated on the first ${calibrated} tokens.`}
      </p>
      <div class="result">
        {run.fault === null ? <Figures entry={entry} /> : <p class="fault">{visible(run.fault)}</p>}
      </div>
      <p class="times">{timesText(entry)}</p>
    </article>
  );
}

function Figures({ entry }: { readonly entry: SchemeEntry }) {
  const run = entry.run.value;
  const worst = run === null ? 0 : run.nmse.heads.indexOf(Math.max(...run.nmse.heads));
  const worstError = run?.nmse.heads[worst] ?? 0;
  return (
    <dl class="figures">
      <div>
        <dt>Error of keys</dt>
        <dd>{run === null ? '–' : figure(run.nmse.key)}</dd>
      </div>
      <div>
        <dt>Error of values</dt>
        <dd>{run === null ? '–' : figure(run.nmse.value)}</dd>
      </div>
      <div>
        <dt>Error of attention</dt>
        <dd>{run === null ? '–' : figure(run.nmse.output)}</dd>
      </div>
      <div>
        <dt>Worst query head{run === null ? '' : `, ${worst}`}</dt>
        <dd class={run === null ? '' : levelOf(worstError)}>
          {run === null ? '–' : `${figure(worstError)}, ${WORDS[levelOf(worstError)]}`}
        </dd>
      </div>
    </dl>
  );
}

const WORDS = { safe: 'small', care: 'take care', unsafe: 'too large' } as const;

function levelOf(nmse: number): 'safe' | 'care' | 'unsafe' {
  if (nmse <= THRESHOLDS.safeWorstHead) return 'safe';
  return nmse <= THRESHOLDS.careWorstHead ? 'care' : 'unsafe';
}

const NAMES: Readonly<Record<string, string>> = { webgpu: 'WebGPU', reference: 'CPU reference' };

function timesText({ scheme, run, other }: SchemeEntry): string {
  if (scheme === null) return 'It runs once it is valid.';
  if (run.value === null) return run.fault === null ? waitingText(run) : '';
  const { backend, milliseconds } = run.value;
  const first = `${NAMES[backend]}: packed in ${millisecondsText(milliseconds.pack)}, one query in ${millisecondsText(milliseconds.attend)}.`;
  if (other === null) return first;
  const name = backend === 'webgpu' ? NAMES.reference : NAMES.webgpu;
  if (other.fault !== null) return `${first} ${name}: ${visible(other.fault)}`;
  if (other.value === null) return `${first} ${name}: measuring.`;
  const { pack, attend, sameBytes } = other.value;
  return `${first} ${name}: ${millisecondsText(pack)} and ${millisecondsText(attend)}, ${sameBytes ? 'the same bytes' : 'OTHER bytes'}.`;
}
