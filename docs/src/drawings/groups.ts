/**
 * Which elements share parameters: groups of keys and of values, over tokens and channels.
 */
import type { Scheme } from '@lowbit-kv/core';
import { html, type Markup } from '../../../packages/report/src/markup.js';
import { box, capital, counted, LINE, type Picture, spaced, words } from './picture.js';
import { type DrawnTensor, drawnTensors } from './plans.js';

/** Groups along their long side, and elements across. */
const LONG = 2;
const ACROSS = 12;
const SIDE = 144;
const GAP = 1;

export function drawGroups(scheme: Scheme): Picture {
  const tensors = drawnTensors(scheme);
  return {
    title: `Groups of ${scheme.id}`,
    description: `${tensors.map(sentence).join(' ')} One group of each is marked.`,
    height: SIDE + 3 * LINE,
    shapes: tensors.map((tensor, i) => panel(tensor, i * 184)),
  };
}

function panel({ name, plan }: DrawnTensor, x: number): Markup {
  const { layout, headDim } = plan;
  const top = LINE + 4;
  const heading = (channels: number) =>
    words(`${capital(name)}: ${channels} channels →`, x, LINE - 5);
  if (layout === null) {
    const whole = box('f16', { x, y: top, width: SIDE, height: SIDE }, 'f16');
    return html`${heading(headDim)}${whole}${words('kept in f16', x + SIDE / 2, top + SIDE / 2, 'middle')}`;
  }
  const { tokensPerGroup, channelsPerGroup } = layout;
  const tokens = tokensPerGroup === 1 ? ACROSS : LONG * tokensPerGroup;
  const channels = channelsPerGroup === 1 ? ACROSS : Math.min(LONG * channelsPerGroup, headDim);
  const [rows, columns] = [tokens / tokensPerGroup, channels / channelsPerGroup];
  const [width, height] = [SIDE / columns, SIDE / rows];
  const groups = Array.from({ length: rows * columns }, (_, i) => {
    const [row, column] = [Math.floor(i / columns), i % columns];
    const place = {
      x: x + column * width,
      y: top + row * height,
      width: width - GAP,
      height: height - GAP,
    };
    return box(i === 0 ? 'marked' : 'codes', place, `group of ${name}`);
  });
  return html`${heading(channels)}${groups}${words(`↓ ${tokens} tokens`, x, top + SIDE + 15)}`;
}

function sentence({ name, plan }: DrawnTensor): string {
  const { layout } = plan;
  if (layout === null) return `${capital(name)} stay f16.`;
  const { tokensPerGroup, channelsPerGroup, parametersShared, parameters, codes } = layout;
  const elements =
    tokensPerGroup > 1
      ? `one channel over ${tokensPerGroup} tokens`
      : `one token over ${channelsPerGroup} channels${parametersShared ? ' of every head' : ''}`;
  const numbers = parameters.map(({ name: parameter, type }) => `${spaced(parameter)} (${type})`);
  const stored =
    codes.rows === 'groups'
      ? `${codes.rowBytes} bytes of the scheme’s codec`
      : numbers.length === 0
        ? 'no number of its own'
        : numbers.join(' and ');
  return `A group of ${name} is ${elements}: ${counted(layout.bits, 'bit')} an element, and ${stored}.`;
}
