/**
 * Attention of the layers of a cache: work lists of what they show, and scratch. Many query tokens run in rounds.
 */
import {
  type AttendSequence,
  elementBytes,
  type LayerGeometry,
  type Plan,
  WINDOW_PAGE_TOKENS,
} from '@lowbit-kv/core';
import type { AttentionBuffers } from '../attend/attention-job.js';
import { AttentionScratch } from '../attend/attention-scratch.js';
import type { AttentionLaunch } from '../attend/prepared-attention.js';
import { StepTables } from '../attend/step-tables.js';
import { PAGE_TOKENS } from '../attend/structs.js';
import { chooseBlocks, itemCapacity } from '../attend/work-list.js';
import type { DeviceRange } from '../driver/device-memory.js';
import { disposeAll } from '../driver/dispose-all.js';
import type { Runtime } from '../runtime.js';
import type { Layer } from './layers.js';
import type { QueryInput, StepInput } from './step-inputs.js';
import type { StepSession } from './step-session.js';

export interface Attention {
  readonly query: QueryInput;
  /** Query tokens. */
  readonly rows: number;
  readonly output: DeviceRange;
  readonly logSumExp: DeviceRange | undefined;
  readonly input: StepInput | undefined;
}

interface Captured {
  readonly tables: StepTables;
  readonly scratch: AttentionScratch;
}

/** Query tokens of a round. */
const ROUND_ROWS = 2048;
/** Pieces of pages that a sequence shows beside whole ones. */
const CAPTURED_PIECES = 4;

export class AttentionStage {
  readonly #runtime: Runtime;
  readonly #scratch: AttentionScratch;
  readonly #plan: Plan;
  /** Of all layers. */
  readonly #geometry: readonly LayerGeometry[];
  /** Layers whose sequences show the same share them. */
  readonly #tables = new Map<string, StepTables>();
  readonly #sessions = new WeakMap<StepSession, Map<string, Captured>>();

  /** Throws DEVICE_OUT_OF_MEMORY. */
  constructor(runtime: Runtime, plan: Plan, layers: readonly Layer[]) {
    this.#runtime = runtime;
    this.#plan = plan;
    const slots = Math.max(1, ...layers.map(({ attention }) => attention.slots));
    this.#geometry = layers.map(({ plan }) => plan.geometry);
    this.#scratch = AttentionScratch.allocate(
      runtime.stream,
      itemCapacity(1, slots),
      this.#geometry,
    );
  }

  run(layer: Layer, sequences: readonly AttendSequence[], attention: Attention): void {
    const { session } = this.#runtime;
    if (session === undefined) this.#runRounds(layer, sequences, attention);
    else this.#runCaptured(session, layer, sequences, attention);
  }

  #runRounds(layer: Layer, sequences: readonly AttendSequence[], attention: Attention): void {
    const { attention: kernel } = layer;
    const { stream } = this.#runtime;
    const tables = this.#tablesOf(layer);
    for (const round of roundsOf(sequences)) {
      const room = roomOf(kernel, round.sequences, round.rows);
      tables.reserve(room.items);
      this.#scratch.reserve(stream, room.scratch);
      // Tables may have had more items before, that left less.
      tables.update(stream, round.sequences, room.items);
      kernel.run(stream, buffersOf(layer, attention, round, tables, this.#scratch));
    }
  }

  #runCaptured(
    session: StepSession,
    layer: Layer,
    sequences: readonly AttendSequence[],
    attention: Attention,
  ): void {
    const { stream, launches } = this.#runtime;
    const { tables, scratch } = this.#captured(session, layer, sequences);
    tables.update(stream, sequences);
    if (launches === undefined) return;
    const buffers = buffersOf(
      layer,
      attention,
      { first: 0, rows: attention.rows },
      tables,
      scratch,
    );
    layer.attention.run(launches, buffers, 'capacity');
  }

  /** Tables with room for every step of a session, which stay where they are. */
  #captured(session: StepSession, layer: Layer, sequences: readonly AttendSequence[]): Captured {
    const name = viewOf(layer);
    const known = this.#sessions.get(session) ?? new Map<string, Captured>();
    this.#sessions.set(session, known);
    let captured = known.get(name);
    if (captured === undefined) {
      const { rows, tokens } = session.options;
      const { context, ring, stream } = this.#runtime;
      const { slots, blocks } = layer.attention;
      // Sequences of later steps may be as many as rows.
      const room = roomOf(layer.attention, sequences, rows, rows);
      const { slidingWindow } = layer.plan.geometry;
      const tables = session.own(
        new StepTables(context, ring, {
          ...{ slots, blocks, capacity: room.items, slidingWindow, ...entriesOf(layer) },
          pageEntries: Math.ceil(tokens / PAGE_TOKENS) + CAPTURED_PIECES * rows,
          restEntries: rows * mostRests(layer, this.#plan),
        }),
      );
      tables.freeze();
      const scratch = session.own(AttentionScratch.allocate(stream, room.scratch, this.#geometry));
      captured = { tables, scratch };
      known.set(name, captured);
    }
    return captured;
  }

  #tablesOf(layer: Layer): StepTables {
    const name = viewOf(layer);
    let tables = this.#tables.get(name);
    if (tables === undefined) {
      const { slidingWindow } = layer.plan.geometry;
      const { slots, blocks } = layer.attention;
      const { context, ring } = this.#runtime;
      const capacity = itemCapacity(1, slots);
      const entries = entriesOf(layer);
      tables = new StepTables(context, ring, {
        slots,
        blocks,
        capacity,
        slidingWindow,
        ...entries,
      });
      this.#tables.set(name, tables);
    }
    return tables;
  }

  dispose(): void {
    disposeAll([...this.#tables.values(), this.#scratch]);
  }
}

function entriesOf({ pageTokens, entryTokens }: Layer) {
  return entryTokens === undefined ? { pageTokens } : { pageTokens, entryTokens };
}

/** Layers with equal ones show the same of equal sequences. */
function viewOf(layer: Layer): string {
  const { plan, attention } = layer;
  const { slidingWindow, kvHeads } = plan.geometry;
  const { slots, blocks } = attention;
  return JSON.stringify([
    plan.key.class,
    plan.value.class,
    slidingWindow,
    kvHeads,
    slots,
    blocks,
    entriesOf(layer),
  ]);
}

/**
 * Room for the items of a job with so many query tokens, and in scratch for what they leave, in items of one query token. `most`:
 * blocks of query tokens there may be, where that is not what the sequences have.
 */
function roomOf(
  { slots, blocks }: Pick<AttentionLaunch, 'slots' | 'blocks'>,
  sequences: readonly AttendSequence[],
  rows: number,
  most?: number,
): { readonly items: number; readonly scratch: number } {
  const kind = chooseBlocks(sequences, blocks);
  const shape = kind === undefined ? undefined : blocks?.[kind];
  if (shape === undefined) {
    const items = itemCapacity(rows, slots);
    return { items, scratch: items };
  }
  const count = sequences.reduce((sum, { queries }) => sum + Math.ceil(queries / shape.queries), 0);
  const items = itemCapacity(most ?? count, shape.slots);
  // Arrivals are counted by query token.
  return { items, scratch: Math.max(rows, items * shape.room) };
}

/** Tokens that a sequence can have outside of packed pages of both tensors. */
function mostRests({ plan }: Layer, { classes }: Plan): number {
  const tokens = [plan.key, plan.value].map((tensor) => {
    const { sinks, recent, flush, blockTokens } = classes[tensor.class] as Plan['classes'][number];
    return sinks + recent + flush + blockTokens;
  });
  return WINDOW_PAGE_TOKENS + (tokens[0] as number) + (tokens[1] as number);
}

function buffersOf(
  { plan }: Layer,
  { query, output, logSumExp, input }: Attention,
  { first, rows }: Pick<Round, 'first' | 'rows'>,
  tables: StepTables,
  scratch: AttentionScratch,
): AttentionBuffers {
  const { queryHeads, keyHeadDim, valueHeadDim } = plan.geometry;
  const rowsOf = (range: DeviceRange, rowBytes: number) =>
    range.range(first * rowBytes, rows * rowBytes);
  return {
    tables,
    scratch,
    queries: rowsOf(query.range, queryHeads * keyHeadDim * elementBytes(query.type)),
    queryType: query.type,
    output: rowsOf(output, 4 * queryHeads * valueHeadDim),
    ...(logSumExp === undefined ? {} : { logSumExp: rowsOf(logSumExp, 4 * queryHeads) }),
    ...(input === undefined ? {} : { input }),
  };
}

/** Some query tokens of a job, one after another from row `first` on. */
interface Round {
  readonly first: number;
  readonly rows: number;
  readonly sequences: readonly AttendSequence[];
}

function* roundsOf(sequences: readonly AttendSequence[]): Generator<Round> {
  let round: AttendSequence[] = [];
  let [first, rows] = [0, 0];
  for (const sequence of sequences) {
    for (let done = 0; done < sequence.queries; ) {
      const queries = Math.min(ROUND_ROWS - rows, sequence.queries - done);
      if (first === 0 && queries === sequence.queries) round.push(sequence);
      else {
        const length = sequence.length - sequence.queries + done + queries;
        round.push({ ...sequence, firstQuery: rows, queries, length });
      }
      done += queries;
      rows += queries;
      if (rows < ROUND_ROWS) continue;
      yield { first, rows, sequences: round };
      first += rows;
      rows = 0;
      round = [];
    }
  }
  if (rows > 0) yield { first, rows, sequences: round };
}
