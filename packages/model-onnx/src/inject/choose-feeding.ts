/**
 * Tries out how a decoder wants its past. Wrong lengths of masks and wrong positions give wrong logits without an error, so
 * the choice must show that steps with a past give what the same tokens give at once.
 */
import { formatValue, LowbitKvError } from '@lowbit-kv/core';
import type { ModelInput } from '../model/input-contract.js';
import { capacityOf, type Feeding, type Slots } from './feeding.js';
import { type InjectedModel, type InjectedPass, runInjected } from './injected-pass.js';
import { joinedTokens, noTokens, type TokenRows } from './token-rows.js';

const PROBE_TOKENS = 4;

/**
 * NMSE of logits, their mean taken off. Rounding of f16 gives 1e-6, activations in 8 bits 1e-3; positions or a mask that are
 * wrong give more.
 */
const STEPS_AND_AT_ONCE = 0.01;

export interface ChosenFeeding {
  readonly feeding: Feeding;
  /** Whether several tokens at once give the logits of each. */
  readonly givesAllLogits: boolean;
}

/** `single`: the model takes one token at a time. Throws MODEL_UNSUPPORTED when nothing passes. */
export async function chooseFeeding(model: InjectedModel, single: boolean): Promise<ChosenFeeding> {
  const reasons: string[] = [];
  for (const feeding of candidates(model)) {
    const outcome = await attempt(model, feeding, single);
    if (typeof outcome !== 'string') return { feeding, ...outcome };
    reasons.push(`${feeding.slots.kind}, mask of ${feeding.masked} tokens: ${outcome}`);
  }
  throw new LowbitKvError('MODEL_UNSUPPORTED', {
    message: 'no way of feeding a past makes the steps of this model equal to all tokens at once',
    value: reasons,
    valid: 'a decoder of self-attention whose past can be given from outside',
    next: 'Export it with attention_mask and position_ids, and a past of any length.',
  });
}

/** Likeliest first. */
function candidates({ session, tensors }: InjectedModel): Feeding[] {
  const inputs = new Map(session.inputs.map((input) => [input.name, input]));
  const mask = inputs.get('attention_mask');
  const capacity = sharedCapacity(tensors);
  const plain: Slots =
    capacity === null ? { kind: 'growing', least: 0 } : { kind: 'start', capacity };
  if (mask === undefined) return [{ slots: plain, masked: 'all' }];
  // Slots without a token are hidden by a mask of all.
  const hidden: Feeding = {
    slots: capacity === null ? { kind: 'growing', least: 1 } : { kind: 'end', capacity },
    masked: 'all',
  };
  const tokens = tokensName(inputs.get('input_ids'));
  const maskings: Feeding['masked'][] =
    tokens !== null && tokens === tokensName(mask) ? ['new', 'all'] : ['all', 'new'];
  const ways = maskings.map((masked): Feeding => ({ slots: plain, masked }));
  const saysWhere = capacity === null || inputs.has('cache_position');
  return saysWhere ? [...ways, hidden] : [hidden, ...ways];
}

/** Throws MODEL_UNSUPPORTED when layers have caches of different lengths. */
function sharedCapacity(tensors: InjectedModel['tensors']): number | null {
  const capacities = [...new Set(tensors.map(({ layout }) => layout.capacity))];
  if (capacities.length === 1) return capacities[0] ?? null;
  throw new LowbitKvError('MODEL_UNSUPPORTED', {
    message: 'the layers of the model have caches of different lengths',
    value: capacities,
    valid: 'one length, or a past of any length',
    next: 'Export the decoder with a past of any length.',
  });
}

function tokensName(input: ModelInput | undefined): string | null {
  const dim = input?.shape?.[1];
  return typeof dim === 'string' && dim !== '' ? dim : null;
}

/** Why a feeding is not right, or what it shows. */
async function attempt(
  model: InjectedModel,
  feeding: Feeding,
  single: boolean,
): Promise<string | Pick<ChosenFeeding, 'givesAllLogits'>> {
  try {
    const tokens = probeTokens(model, feeding);
    const { steps, past } = await stepwise(model, feeding);
    const last = steps.at(-1) as InjectedPass;
    const other = await runInjected(model, tokens.slice(-1), negated(past), feeding);
    if (isSame(other.logits, last.logits)) return 'logits do not depend on the past';
    if (hasEmptySlots(feeding)) {
      const filled = await stepwise(model, feeding, 1);
      if (!filled.steps.every(({ logits }, i) => isSame(logits, steps[i]?.logits)))
        return 'slots without a token are seen';
    }
    // Nothing to compare with: positions are as declared.
    if (single) return { givesAllLogits: true };
    const { logits } = await runInjected(model, tokens, noTokens(model.layers), feeding);
    const givesAllLogits = logits.length > model.vocabularySize;
    const rows = givesAllLogits ? steps : [last];
    const errors = rows.map((step, i) =>
      centredNmse(step.logits, logits.subarray(i * model.vocabularySize)),
    );
    const worst = Math.max(...errors);
    if (worst <= STEPS_AND_AT_ONCE) return { givesAllLogits };
    return `logits of steps are off by an NMSE of ${worst.toPrecision(2)}`;
  } catch (error) {
    if (!LowbitKvError.is(error)) throw error;
    if (error.code !== 'BACKEND_FAILED' && error.code !== 'MODEL_UNSUPPORTED') throw error;
    return `${error.summary}: ${formatValue(error.value)}`;
  }
}

/** A token at a time; `past` is what the last one had. */
async function stepwise(model: InjectedModel, feeding: Feeding, filler = 0) {
  const steps: InjectedPass[] = [];
  let past = noTokens(model.layers);
  let next = past;
  for (const token of probeTokens(model, feeding)) {
    past = next;
    const step = await runInjected(model, [token], past, feeding, filler);
    steps.push(step);
    next = joinedTokens([past, step.rows]);
  }
  return { steps, past };
}

/** Any will do, except those that pad. */
function probeTokens({ vocabularySize }: InjectedModel, feeding: Feeding): number[] {
  const length = Math.min(PROBE_TOKENS, capacityOf(feeding) ?? PROBE_TOKENS);
  return Array.from({ length }, (_, i) => Math.min(i + 1, vocabularySize - 1));
}

function hasEmptySlots({ slots }: Feeding): boolean {
  return slots.kind !== 'growing' || slots.least > 0;
}

function negated({ tokens, layers }: TokenRows): TokenRows {
  const negative = (x: number) => -x;
  return {
    tokens,
    layers: layers.map(({ key, value }) => ({
      key: key.map(negative),
      value: value.map(negative),
    })),
  };
}

function isSame(a: Float32Array, b: Float32Array | undefined): boolean {
  return a.length === b?.length && a.every((x, i) => x === b[i]);
}

/** Over the elements of `actual`. Not a number where one of them is not. */
function centredNmse(actual: Float32Array, expected: Float32Array): number {
  const mean = (values: Float32Array) => values.reduce((sum, x) => sum + x, 0) / values.length;
  const row = expected.subarray(0, actual.length);
  const [a, b] = [mean(actual), mean(row)];
  let error = 0;
  let energy = 0;
  for (const [i, x] of row.entries()) {
    error += ((actual[i] as number) - a - (x - b)) ** 2;
    energy += (x - b) ** 2;
  }
  return error === 0 ? 0 : error / energy;
}
