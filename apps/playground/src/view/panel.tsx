/** Parts that every panel is made of. */
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

export interface PanelProps {
  readonly id: string;
  readonly number: number;
  readonly title: string;
  /** One sentence for somebody who has never heard of it. */
  readonly lead: string;
  readonly busy?: boolean;
  readonly children: ComponentChildren;
}

export function Panel({ id, number, title, lead, busy = false, children }: PanelProps) {
  return (
    <section class="panel" id={id} aria-labelledby={`${id}-title`} aria-busy={busy}>
      <h2 id={`${id}-title`}>
        <span class="number" aria-hidden="true">
          {number}
        </span>
        {title}
      </h2>
      <p class="lead">{lead}</p>
      {children}
    </section>
  );
}

export interface ChoiceProps<Value extends string | number> {
  readonly label: string;
  readonly options: readonly (readonly [value: Value, text: string])[];
  readonly value: Value;
  /** Cannot be chosen here. */
  readonly disabled?: readonly Value[];
  readonly choose: (value: Value) => void;
}

/** A few options side by side: radio buttons. */
export function Choice<Value extends string | number>(props: ChoiceProps<Value>) {
  const name = useId();
  return (
    <fieldset class="choice">
      <legend>{props.label}</legend>
      <div class="segments">
        {props.options.map(([value, text]) => (
          <label key={value} class={value === props.value ? 'chosen' : ''}>
            <input
              type="radio"
              name={name}
              checked={value === props.value}
              disabled={props.disabled?.includes(value) ?? false}
              onChange={() => props.choose(value)}
            />
            <span>{text}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

export interface SliderProps {
  readonly label: string;
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly step?: number;
  /** What stands beside the label instead of the number. */
  readonly text?: string;
  readonly change: (value: number) => void;
}

export function Slider({ label, value, min, max, step = 1, text, change }: SliderProps) {
  const id = useId();
  return (
    <div class="slider">
      <label for={id}>{label}</label>
      <output for={id}>{text ?? value}</output>
      <input
        id={id}
        type="range"
        min={min}
        max={max}
        step={step}
        value={value}
        aria-valuetext={text}
        onInput={({ currentTarget }) => change(Number(currentTarget.value))}
      />
    </div>
  );
}

export interface SelectProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly choose: (value: string) => void;
}

export function Select({ label, value, options, choose }: SelectProps) {
  const id = useId();
  return (
    <div class="select">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={({ currentTarget }) => choose(currentTarget.value)}>
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}
