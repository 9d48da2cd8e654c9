/** Panel 8: what becomes of tokens as they arrive, one by one. */
import { useEffect, useState } from 'preact/hooks';
import { classOf } from '../run/locate.js';
import { nextPack, type WindowStep, windowStep } from '../run/window-states.js';
import type { Scene } from '../scene.js';
import { Choice, Panel, Slider } from '../view/panel.js';
import { waitingText } from '../view/text.js';
import { WindowCells } from '../view/window-cells.js';

const MOST_TOKENS = 512;
const START = 200;
/** Milliseconds of a token; of a whole pack where motion is not wanted. */
const STEP = { token: 60, pack: 1200 } as const;
const NO_RUN = { fault: null, pending: false } as const;
const REDUCED = '(prefers-reduced-motion: reduce)';

export function WindowPanel({ scene }: { readonly scene: Scene }) {
  const { entries, selection } = scene;
  const [letter, setLetter] = useState('A');
  const [length, setLength] = useState(START);
  const [playing, setPlaying] = useState(false);
  const entry = entries.find((one) => one.letter === letter) ?? entries[0];
  const run = entry?.run.value ?? null;
  const rules =
    run === null
      ? null
      : {
          key: classOf(run, 'key', selection.kvHead),
          value: classOf(run, 'value', selection.kvHead),
        };
  const reduced = matchMedia(REDUCED).matches;
  useEffect(() => {
    if (!playing || rules === null) return;
    const advance = (now: number) => {
      if (!reduced || rules.key.flush === 0) return now + 1;
      return nextPack(rules.key, now);
    };
    const timer = setInterval(
      () => setLength((now) => Math.min(MOST_TOKENS, advance(now))),
      reduced ? STEP.pack : STEP.token,
    );
    return () => clearInterval(timer);
  }, [playing, run, reduced]);
  useEffect(() => {
    if (length >= MOST_TOKENS) setPlaying(false);
  }, [length]);
  const play = () => {
    if (!playing && length >= MOST_TOKENS) setLength(0);
    setPlaying(!playing);
  };
  return (
    <Panel
      id="windows"
      number={8}
      title="Token by token"
      lead="New tokens wait in an f16 window until there are enough of them to be packed together; the very first ones may stay in f16 for ever."
    >
      <div class="row">
        <Choice
          label="Windows of scheme"
          options={entries.map((one) => [one.letter, one.letter] as const)}
          value={entry?.letter ?? 'A'}
          choose={setLetter}
        />
        <Slider
          label="Tokens so far"
          value={length}
          min={0}
          max={MOST_TOKENS}
          change={(value) => {
            setPlaying(false);
            setLength(value);
          }}
        />
        <div class="buttons">
          <button type="button" class="play" onClick={play} disabled={rules === null}>
            {playing ? 'Pause' : 'Play'}
          </button>
          <button
            type="button"
            disabled={rules === null || length >= MOST_TOKENS}
            onClick={() => {
              setPlaying(false);
              setLength(Math.min(MOST_TOKENS, length + 1));
            }}
          >
            One token
          </button>
        </div>
      </div>
      {(['key', 'value'] as const).map((tensor) => {
        const step = rules === null ? null : windowStep(rules[tensor], length);
        return (
          <div key={tensor} class="window">
            <h3>{tensor === 'key' ? 'Keys' : 'Values'}</h3>
            <p class="readout window-readout" aria-live={playing ? 'off' : 'polite'}>
              {step === null ? waitingText(entry?.run ?? NO_RUN) : stepText(step)}
            </p>
            <WindowCells step={step} most={MOST_TOKENS} />
          </div>
        );
      })}
      <ul class="legend windows">
        <li class="cell-sink">first tokens, f16 for ever</li>
        <li class="cell-packed">packed</li>
        <li class="cell-tail">newest tokens, f16</li>
      </ul>
    </Panel>
  );
}

function stepText({ length, sinks, packed, tail, event, next }: WindowStep): string {
  const parts = [`${packed} packed`, `${tail} in the f16 window`];
  if (sinks > 0) parts.unshift(`${sinks} first`);
  const coming =
    next === null
      ? 'This scheme never packs them.'
      : event === ''
        ? `Next pack at token ${next}.`
        : `${event.charAt(0).toUpperCase()}${event.slice(1)}.`;
  return `After ${length} tokens: ${parts.join(', ')}. ${coming}`;
}
