/** The editor of a scheme of the visitor's own: JSON text, and complaints of the real validator in their place. */
import { useId, useRef } from 'preact/hooks';
import type { Change, Settings } from '../settings.js';
import { visible } from '../view/text.js';
import { lineOf, parseCustom } from './custom.js';

export interface CustomEditorProps {
  readonly settings: Settings;
  readonly change: Change;
}

export function CustomEditor({ settings, change }: CustomEditorProps) {
  const text = settings.custom;
  const area = useRef<HTMLTextAreaElement>(null);
  const lines = useRef<HTMLPreElement>(null);
  const id = useId();
  const parsed = parseCustom(text);
  const faulty = parsed.kind === 'fault' ? parsed : null;
  const faultyLine = faulty === null ? 0 : lineOf(text, faulty.range.start);
  const show = () => {
    if (faulty === null || area.current === null) return;
    area.current.focus();
    area.current.setSelectionRange(faulty.range.start, faulty.range.end);
  };
  const follow = () => {
    if (lines.current !== null) lines.current.scrollTop = area.current?.scrollTop ?? 0;
  };
  return (
    <div class="editor">
      <label for={id}>Your own scheme, as JSON</label>
      <div class="editor-text">
        <pre ref={lines} class="lines" aria-hidden="true">
          {Array.from(text.split('\n'), (_, i) => (
            <span key={i} class={i + 1 === faultyLine ? 'faulty' : ''}>
              {i + 1}
              {'\n'}
            </span>
          ))}
        </pre>
        <textarea
          ref={area}
          id={id}
          spellcheck={false}
          autocomplete="off"
          wrap="off"
          value={text}
          aria-invalid={faulty !== null}
          aria-describedby={`${id}-fault`}
          onInput={({ currentTarget }) => change({ custom: currentTarget.value })}
          onScroll={follow}
        />
      </div>
      <div class="editor-fault">
        <p id={`${id}-fault`} class={faulty === null ? 'sound' : 'fault'} role="status">
          {faulty === null
            ? 'Valid: it runs above.'
            : `Line ${faultyLine}. ${visible(faulty.message)}`}
        </p>
        <button type="button" disabled={faulty === null} onClick={show}>
          Show the place
        </button>
      </div>
    </div>
  );
}
