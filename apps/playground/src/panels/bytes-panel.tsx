/** Panel 5: the bytes of one packed block, each explained. */
import { type PageField, pageFields } from '@lowbit-kv/core';
import { useMemo, useRef, useState } from 'preact/hooks';
import { byteOfElement, explainByte, FIELD_MEANING } from '../run/explain-byte.js';
import { nearestPlace, type PackedPlace } from '../run/locate.js';
import type { Scene } from '../scene.js';
import { Choice, Panel } from '../view/panel.js';
import { count, waitingText } from '../view/text.js';

/** Bytes of a field that are shown, around the element in view. */
const SHOWN = 32;

interface ShownField {
  readonly field: PageField;
  /** Of the first byte shown, from the start of the field. */
  readonly first: number;
  readonly bytes: Uint8Array;
}

interface ShownByte {
  readonly field: PageField;
  readonly byte: number;
}

export function BytesPanel({ scene }: { readonly scene: Scene }) {
  const { selection, entries } = scene;
  const [letter, setLetter] = useState('A');
  const entry = entries.find((one) => one.letter === letter) ?? entries[0];
  const run = entry?.run.value ?? null;
  const { tensor, kvHead: head, token, channel } = selection;
  const place = useMemo(
    () => (run === null ? null : nearestPlace(run, tensor, { head, token })),
    [run, tensor, head, token],
  );
  return (
    <Panel
      id="bytes"
      number={5}
      title="The bytes"
      lead="This is what is really stored: codes of a few bits side by side, and behind them the few numbers that turn codes back into values; point at a byte to read it."
    >
      <Choice
        label="Block of scheme"
        options={entries.map((one) => [one.letter, one.letter] as const)}
        value={entry?.letter ?? 'A'}
        choose={setLetter}
      />
      {place === null ? (
        <p class="nothing">
          {entry === undefined || run === null
            ? waitingText(entry?.run ?? { fault: null, pending: false })
            : 'This scheme has packed nothing here: all of it is f16.'}
        </p>
      ) : (
        <Block place={place} channel={Math.min(channel, place.plan.headDim - 1)} tensor={tensor} />
      )}
    </Panel>
  );
}

interface BlockProps {
  readonly place: PackedPlace;
  readonly channel: number;
  readonly tensor: string;
}

function Block({ place, channel, tensor }: BlockProps) {
  const { plan, block, head, slot, number } = place;
  const fields = useMemo(() => shownFields(place, channel), [place, channel]);
  const [current, setCurrent] = useState<ShownByte | null>(null);
  const grid = useRef<HTMLDivElement>(null);
  const all = fields.flatMap(({ field, first, bytes }) =>
    Array.from(bytes, (_, i): ShownByte => ({ field, byte: first + i })),
  );
  const chosen = all.find((one) => isSame(one, current)) ?? elementByte(place, channel, all);
  const move = (event: KeyboardEvent) => {
    const steps: Readonly<Record<string, number>> = {
      ...{ ArrowRight: 1, ArrowLeft: -1, ArrowDown: 16, ArrowUp: -16 },
      ...{ Home: -all.length, End: all.length },
    };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const at = all.findIndex((one) => isSame(one, chosen));
    const next = Math.max(0, Math.min(all.length - 1, at + step));
    setCurrent(all[next] ?? null);
    grid.current?.querySelectorAll('button')[next]?.focus();
  };
  const names = [...new Set(fields.map(({ field }) => field.name))];
  return (
    <>
      <p class="readout block-readout">
        Block {number} of the {tensor}s: tokens {block.position} to{' '}
        {block.position + block.validTokens - 1}, {count(block.bytes.length, 'byte')} for{' '}
        {count(plan.heads, 'head')}. In f16 it would be{' '}
        {count(block.validTokens * plan.heads * plan.headDim * 2, 'byte')}. Below: around token{' '}
        {block.position + slot}, channel {channel}.
      </p>
      <p class="explanation" role="status">
        {chosen === null ? '' : byteText(place, chosen)}
      </p>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between its buttons. */}
      <div ref={grid} class="fields" onKeyDown={move}>
        {fields.map(({ field, first, bytes }) => (
          <section key={field.offset} class={`field kind-${names.indexOf(field.name)}`}>
            <h3>
              {field.name}
              <span>
                {count(field.bytes, 'byte')} at {field.offset}: {FIELD_MEANING[field.name]}
              </span>
            </h3>
            <div class="bytes">
              {Array.from(bytes, (value, i) => {
                const one = { field, byte: first + i };
                const isChosen = isSame(one, chosen);
                return (
                  <button
                    key={first + i}
                    type="button"
                    class={isChosen ? 'chosen' : ''}
                    tabIndex={isChosen ? 0 : -1}
                    aria-label={`byte ${field.offset + first + i}, ${hex(value)}, ${field.name}`}
                    onFocus={() => setCurrent(one)}
                    onMouseEnter={() => setCurrent(one)}
                  >
                    {hex(value)}
                  </button>
                );
              })}
            </div>
          </section>
        ))}
      </div>
      <p class="hint">Head {block.heads[head]} of the page. Arrow keys go from byte to byte.</p>
    </>
  );
}

function shownFields(place: PackedPlace, channel: number): ShownField[] {
  const { plan, block, head, slot } = place;
  return pageFields(plan.layout)
    .filter((field) => field.bytes > 0 && (field.head === head || field.head === null))
    .map((field) => {
      const at = byteOfElement(place, field, { slot, channel });
      const latest = Math.max(0, field.bytes - SHOWN);
      const first = Math.min(latest, at - (at % SHOWN));
      const from = field.offset + first;
      const bytes = block.bytes.subarray(from, from + Math.min(SHOWN, field.bytes - first));
      return { field, first, bytes };
    });
}

/** The byte that holds the code of the element in view. */
function elementByte(
  place: PackedPlace,
  channel: number,
  all: readonly ShownByte[],
): ShownByte | null {
  const [first] = all;
  if (first === undefined) return null;
  const byte = byteOfElement(place, first.field, { slot: place.slot, channel });
  return all.find((one) => isSame(one, { field: first.field, byte })) ?? first;
}

function isSame(a: ShownByte | null, b: ShownByte | null): boolean {
  return a !== null && b !== null && a.byte === b.byte && a.field.offset === b.field.offset;
}

function byteText(place: PackedPlace, { field, byte }: ShownByte): string {
  const value = place.block.bytes[field.offset + byte] as number;
  const bits = value.toString(2).padStart(8, '0');
  return `Byte ${field.offset + byte}, ${hex(value)} (${bits.slice(0, 4)} ${bits.slice(4)}). ${explainByte(place, field, byte)}`;
}

function hex(value: number): string {
  return value.toString(16).padStart(2, '0');
}
