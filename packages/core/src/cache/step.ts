/**
 * A decoding step: a transaction over all layers. Planned once, executed layer by layer, real at commit.
 */
import type {
  AttendSequence,
  AttendTarget,
  AttentionResult,
  BlockStore,
  PageKind,
  TensorWork,
} from '../backend.js';
import { LowbitKvError } from '../errors.js';
import type { LayerGeometry } from '../geometry.js';
import { checkCount, checkOptions } from '../options.js';
import type { LayerUnit, ModelLayer } from '../plan/model-layers.js';
import type { Plan } from '../plan/plan.js';
import { checkTensor, isHostTensor, type Tensor } from '../tensor.js';
import { checkedBits } from './finite.js';
import { attendUnits, kvHeadsOf } from './head-slices.js';
import { type HeldPage, type PagePool, Reservation } from './page-pool.js';
import { planStep, type StepPlan, type WorkList } from './plan-step.js';
import type { Sequence } from './sequence.js';
import { heldFrom } from './tensor-state.js';

export interface StepEntry {
  readonly sequence: Sequence;
  /** New tokens; 0 is allowed. */
  readonly tokens: number;
}

export interface AttendOptions {
  readonly logSumExp?: boolean;
  /** Queries per sequence, aligned to its end. Default: the new tokens of each (outside a step: 1 each). */
  readonly queries?: readonly number[];
  /** Device tensors that results are written to, f32 of the shapes of the result; the caller's, and not read back unless asked. */
  readonly into?: AttendTarget;
}

/** What a step needs of its cache. */
export interface StepHost {
  readonly plan: Plan;
  readonly layers: readonly ModelLayer[];
  readonly store: BlockStore;
  readonly pools: readonly PagePool[];
  readonly rollback: number;
  readonly nonFinite: 'error' | 'mask';
  /** Throws CACHE_DISPOSED once the cache is disposed. */
  readonly check: () => void;
  /** A number no other step of the cache has. */
  readonly nextStep: () => number;
}

export class Step {
  readonly #host: StepHost;
  readonly #entries: readonly StepEntry[];
  readonly #plans: StepPlan[][] = [];
  readonly #work: TensorWork[] = [];
  readonly #reservations: Reservation[] = [];
  /** By layer of the model: what each of its units was given. */
  readonly #inputs: (Map<LayerUnit, { key: Tensor; value: Tensor }> | undefined)[] = [];
  readonly #rows: { sequence: number; position: number; count: number }[] = [];
  readonly #newTokens: number;
  readonly #number: number;
  #state: 'open' | 'settling' | 'committed' | 'abandoned' = 'open';

  /** @internal Made by `cache.step`. Plans everything; throws OUT_OF_PAGES before any work. */
  constructor(host: StepHost, entries: readonly StepEntry[]) {
    this.#host = host;
    // A copy: callers reuse their entries for the next step while this one is open.
    this.#entries = entries.map(({ sequence, tokens }) => ({ sequence, tokens }));
    this.#number = host.nextStep();
    let row = 0;
    for (const [i, { sequence, tokens }] of this.#entries.entries()) {
      checkCount(`tokens of sequence ${i}`, tokens, 0);
      sequence.check('start a step');
      if (this.#entries.some((other, j) => j < i && other.sequence === sequence)) {
        throw new LowbitKvError('STEP_STATE', {
          message: 'a sequence appears twice in one step',
          value: sequence.id,
          valid: 'each sequence once',
          next: 'Pass all its new tokens in one entry, or fork it.',
        });
      }
      this.#rows.push({ sequence: i, position: sequence.length, count: tokens });
      row += tokens;
    }
    this.#newTokens = row;
    this.#plan();
    for (const { sequence } of this.#entries) sequence.inStep = true;
  }

  /** Rows of the K and V this step takes per layer. */
  get rows(): number {
    return this.#newTokens;
  }

  #plan(): void {
    const { plan, pools, rollback } = this.#host;
    for (const [index, pageClass] of plan.classes.entries()) {
      const pages = new Reservation(pools[index] as PagePool);
      const work: WorkList = { copies: [], statistics: [], writes: [], packs: [] };
      const plans = this.#entries.map(({ sequence, tokens }, i) =>
        planStep(
          {
            pageClass,
            state: sequence.states[index] as (typeof sequence.states)[number],
            length: sequence.length,
            newTokens: tokens,
            firstRow: this.#rows.slice(0, i).reduce((sum, entry) => sum + entry.count, 0),
            rollback,
            pages,
          },
          work,
        ),
      );
      this.#reservations.push(pages);
      this.#plans.push(plans);
      this.#work.push(work);
    }
    const short = this.#reservations.findIndex((pages) =>
      Object.values(pages.missing).some((count) => count > 0),
    );
    if (short < 0) return;
    const pages = this.#reservations[short] as Reservation;
    const kind = (Object.keys(pages.missing) as PageKind[]).find(
      (k) => pages.missing[k] > 0,
    ) as PageKind;
    const needed = pages.taken.filter((held) => held.kind === kind).length + pages.missing[kind];
    for (const reservation of this.#reservations) reservation.undo();
    throw new LowbitKvError('OUT_OF_PAGES', {
      message: `the step needs more ${kind} pages of the ${plan.classes[short]?.tensor}s than are free`,
      value: { needed, free: pools[short]?.free(kind), total: pools[short]?.counts[kind] },
      valid: `at most ${pools[short]?.free(kind)} pages`,
      next: 'Dispose or truncate sequences, or create the cache with a larger capacity.',
    });
  }

  /**
   * Hands over K and V of the new tokens of one layer, `[rows, kvHeads, headDim]`. Every layer once, in any order; host
   * arrays may be reused afterwards, device tensors must live until `commit`. Throws TENSOR_INVALID, NON_FINITE, OUTLIER_CAPACITY or STEP_STATE; the
   * step is then abandoned and every sequence is as before.
   */
  append(layer: number, key: Tensor, value: Tensor): void {
    this.#requireOpen('append');
    try {
      const modelLayer = layerOf(this.#host.layers, layer);
      if (this.#inputs[layer] !== undefined)
        this.#refuse('append was called twice for a layer', layer, 'each layer once');
      const { kvHeads, keyHeadDim, valueHeadDim } = modelLayer.geometry;
      checkTensor('key', key, [this.#newTokens, kvHeads, keyHeadDim], layer);
      checkTensor('value', value, [this.#newTokens, kvHeads, valueHeadDim], layer);
      const stored = {
        key: this.#toStored('key', key, layer),
        value: this.#toStored('value', value, layer),
      };
      const inputs = new Map<LayerUnit, { key: Tensor; value: Tensor }>();
      for (const unit of modelLayer.units) {
        const input = {
          key: kvHeadsOf(modelLayer, unit, stored.key),
          value: kvHeadsOf(modelLayer, unit, stored.value),
        };
        this.#host.store.append({
          step: this.#number,
          layer: unit.index,
          ...input,
          work: {
            key: this.#workOf(unit.plan.key.class),
            value: this.#workOf(unit.plan.value.class),
          },
          rows: this.#rows,
        });
        inputs.set(unit, input);
      }
      this.#inputs[layer] = inputs;
    } catch (error) {
      this.abandon();
      throw error;
    }
  }

  /**
   * Attention of one layer after its `append`: Q `[queries, queryHeads, keyHeadDim]`, queries of a sequence aligned to
   * its end, causal. Nothing is read back until `read()` of the result.
   */
  attend(layer: number, query: Tensor, options: AttendOptions = {}): AttentionResult {
    this.#requireOpen('attend');
    checkOptions('attend', options, ATTEND_OPTIONS);
    const modelLayer = layerOf(this.#host.layers, layer);
    const inputs = this.#inputs[layer];
    if (inputs === undefined && this.#newTokens > 0) {
      this.#refuse('attend was called before append of the same layer', layer, 'append first');
    }
    const sequencesOf = (unit: LayerUnit) =>
      attendSequences(
        this.#entries.map(({ sequence, tokens }, i) => ({
          length: sequence.length + tokens,
          queries: options.queries?.[i] ?? tokens,
          key: this.#viewOf(unit.plan.key.class, i),
          value: this.#viewOf(unit.plan.value.class, i),
        })),
        options.queries,
      );
    const jobs = checkedJobs(query, modelLayer, sequencesOf);
    try {
      checkTarget(query, modelLayer, options.into);
      return attendUnits(this.#host.store, modelLayer, query, (unit) => {
        const input = inputs?.get(unit);
        return {
          step: this.#number,
          ...(input === undefined ? {} : { input }),
          sequences: jobs.get(unit) as AttendSequence[],
          logSumExp: options.logSumExp ?? false,
          ...(options.into === undefined ? {} : { into: options.into }),
        };
      });
    } catch (error) {
      this.abandon();
      throw error;
    }
  }

  /** Waits for the backend, then makes the step real. A fault rolls the step back and is thrown. */
  async commit(): Promise<void> {
    this.#requireOpen('commit');
    const missing =
      this.#newTokens === 0
        ? []
        : this.#host.layers.filter((l) => this.#inputs[l.layer] === undefined);
    if (missing.length > 0) {
      const list = missing.map((l) => l.layer).join(', ');
      this.#refuse(
        `append is missing for layers ${list}`,
        list,
        'append of every layer before commit',
      );
    }
    this.#state = 'settling';
    try {
      await this.#host.store.settle(this.#number);
      this.#host.check();
    } catch (error) {
      this.#close('abandoned');
      throw error;
    }
    for (const [i, { sequence, tokens }] of this.#entries.entries()) {
      sequence.states = this.#plans.map((plans) => (plans[i] as StepPlan).next);
      sequence.currentLength += tokens;
    }
    this.#close('committed');
  }

  /** Drops the step; every sequence is as it was. Harmless after commit. */
  abandon(): void {
    if (this.#state === 'open') this.#close('abandoned');
  }

  #close(state: 'committed' | 'abandoned'): void {
    this.#state = state;
    for (const [index, pages] of this.#reservations.entries()) {
      if (state === 'abandoned') pages.undo();
      else {
        for (const plan of this.#plans[index] as StepPlan[]) {
          for (const { kind, page } of plan.released as HeldPage[])
            this.#host.pools[index]?.release(kind, page);
        }
      }
    }
    for (const { sequence } of this.#entries) sequence.inStep = false;
    this.#inputs.length = 0;
    if (state === 'abandoned') this.#host.store.forget(this.#number);
  }

  /** Host tensors are rounded to f16 once and checked before anything is stored; device tensors are the backend's. */
  #toStored(name: 'key' | 'value', tensor: Tensor, layer: number): Tensor {
    if (!isHostTensor(tensor)) return tensor;
    return checkedBits(name, tensor, layer, this.#rows, this.#host.nonFinite);
  }

  #workOf(index: number): TensorWork {
    return this.#work[index] as TensorWork;
  }

  #viewOf(index: number, entry: number): StepPlan['view'] {
    return ((this.#plans[index] as StepPlan[])[entry] as StepPlan).view;
  }

  #requireOpen(action: string): void {
    this.#host.check();
    if (this.#state === 'open') return;
    this.#refuse(`cannot ${action}: the step is ${this.#state}`, this.#state, 'an open step');
  }

  #refuse(message: string, value: unknown, valid: string): never {
    throw new LowbitKvError('STEP_STATE', {
      message,
      value,
      valid,
      next: 'Call append and attend per layer, then commit once; start a new step after commit or abandon.',
    });
  }
}

/** Throws TENSOR_INVALID for a layer that does not exist. */
export function layerOf(layers: readonly ModelLayer[], layer: number): ModelLayer {
  const found = layers[layer];
  if (found !== undefined) return found;
  throw new LowbitKvError('TENSOR_INVALID', {
    message: 'no such layer',
    value: layer,
    valid: `0 to ${layers.length - 1}`,
    next: 'Use the layer numbers of the geometry.',
  });
}

export const ATTEND_OPTIONS = ['logSumExp', 'queries', 'into'] as const;

/** Adds query offsets; checks the counts. */
export function attendSequences(
  sequences: readonly Omit<AttendSequence, 'firstQuery'>[],
  queries: readonly number[] | undefined,
): AttendSequence[] {
  if (queries !== undefined && queries.length !== sequences.length) {
    throw new LowbitKvError('OPTION_INVALID', {
      message: 'queries must name a count per sequence',
      value: queries.length,
      valid: `${sequences.length} counts`,
      next: 'Give one count per sequence, in the same order.',
    });
  }
  let firstQuery = 0;
  return sequences.map((sequence, i) => {
    checkCount(`queries of sequence ${i}`, sequence.queries, 0);
    if (sequence.queries > sequence.length && sequence.length > 0) {
      throw new LowbitKvError('OPTION_INVALID', {
        message: 'more queries than tokens',
        value: sequence.queries,
        valid: `at most ${sequence.length}`,
        next: 'Queries are aligned to the end of the sequence.',
        where: { sequence: i },
      });
    }
    const result = { ...sequence, firstQuery };
    firstQuery += sequence.queries;
    return result;
  });
}

/** What each unit of a layer attends over, with the shape of Q checked, and that what its queries see is still held. */
export function checkedJobs(
  query: Tensor,
  { layer, geometry, units }: ModelLayer,
  sequencesOf: (unit: LayerUnit) => AttendSequence[],
): Map<LayerUnit, AttendSequence[]> {
  const jobs = new Map(units.map((unit) => [unit, sequencesOf(unit)]));
  let total = 0;
  for (const sequences of jobs.values()) {
    for (const [i, sequence] of sequences.entries())
      checkVisible(geometry.slidingWindow, sequence, i);
    total = sequences.reduce((sum, sequence) => sum + sequence.queries, 0);
  }
  checkTensor('query', query, [total, geometry.queryHeads, geometry.keyHeadDim], layer);
  return jobs;
}

/** Throws TENSOR_INVALID for targets of other shapes, PLAN_REFUSED where outputs are put together on the host. */
export function checkTarget(
  query: Tensor,
  { layer, geometry, units }: ModelLayer,
  into: AttendTarget | undefined,
): void {
  if (into === undefined) return;
  const [queries = 0] = query.shape;
  checkTensor(
    'into.output',
    into.output,
    [queries, geometry.queryHeads, geometry.valueHeadDim],
    layer,
  );
  if (into.logSumExp !== undefined)
    checkTensor('into.logSumExp', into.logSumExp, [queries, geometry.queryHeads], layer);
  if (units.length === 1) return;
  throw new LowbitKvError('PLAN_REFUSED', {
    message: 'outputs of a layer with overrides of single heads are put together on the host',
    value: 'into',
    valid: 'attention without `into`',
    next: 'Leave `into` out and read the result, or override whole layers.',
    where: { layer },
  });
}

/** A sliding window evicts what the next query cannot see; queries further back may see more than is left. */
function checkVisible(
  window: LayerGeometry['slidingWindow'],
  { key, value, length, queries }: AttendSequence,
  index: number,
): void {
  if (window === null || queries === 0) return;
  const oldest = Math.max(window.sinks, length - queries - window.size + 1);
  const held = Math.max(heldFrom(key.spans, length), heldFrom(value.spans, length));
  if (oldest >= length || held <= oldest) return;
  throw new LowbitKvError('OPTION_INVALID', {
    message: 'the sliding window has evicted tokens that the first queries would see',
    value: queries,
    valid: `at most ${length - held - window.size + 1} queries`,
    next: 'Attend in the step that appends the tokens, or create the cache with `rollback`.',
    where: { sequence: index },
  });
}
