/**
 * Attention of the layers of a cache: work lists of what they show, and scratch. Many query tokens run in rounds.
 */
import type { AttendSequence } from '@lowbit-kv/core';
import { AttentionScratch } from '../attend/attention-scratch.js';
import { StepTables } from '../attend/step-tables.js';
import { itemCapacity } from '../attend/work-list.js';
import { bytesOf } from '../cuda-tensor.js';
import type { DeviceRange } from '../driver/device-memory.js';
import type { Runtime } from '../runtime.js';
import type { Layer } from './layers.js';
import type { QueryInput, StepInput } from './step-inputs.js';

export interface Attention {
  readonly query: QueryInput;
  /** Query tokens. */
  readonly rows: number;
  readonly output: DeviceRange;
  readonly logSumExp: DeviceRange | undefined;
  readonly input: StepInput | undefined;
}

/** Query tokens of a round. */
const ROUND_ROWS = 2048;

export class AttentionStage {
  readonly #runtime: Runtime;
  readonly #scratch: AttentionScratch;
  /** Layers whose sequences show the same share them. */
  readonly #tables = new Map<string, StepTables>();

  /** Throws DEVICE_OUT_OF_MEMORY. */
  constructor(runtime: Runtime, layers: readonly Layer[]) {
    this.#runtime = runtime;
    const slots = Math.max(1, ...layers.map(({ attention }) => attention.slots));
    const geometry = layers.map(({ plan }) => plan.geometry);
    this.#scratch = AttentionScratch.allocate(runtime.stream, itemCapacity(1, slots), geometry);
  }

  run(layer: Layer, sequences: readonly AttendSequence[], attention: Attention): void {
    if (attention.rows === 0) return;
    const { attention: kernel, plan } = layer;
    const { stream } = this.#runtime;
    const { queryHeads, keyHeadDim, valueHeadDim } = plan.geometry;
    const { query, output, logSumExp, input } = attention;
    const tables = this.#tablesOf(layer);
    for (const round of roundsOf(sequences)) {
      const capacity = itemCapacity(round.rows, kernel.slots);
      tables.reserve(capacity);
      this.#scratch.reserve(stream, capacity);
      tables.update(stream, round.sequences);
      const rowsOf = (range: DeviceRange, rowBytes: number) =>
        range.range(round.first * rowBytes, round.rows * rowBytes);
      kernel.run(stream, {
        tables,
        scratch: this.#scratch,
        queries: rowsOf(query.range, queryHeads * keyHeadDim * bytesOf(query.type)),
        queryType: query.type,
        output: rowsOf(output, 4 * queryHeads * valueHeadDim),
        ...(logSumExp === undefined ? {} : { logSumExp: rowsOf(logSumExp, 4 * queryHeads) }),
        ...(input === undefined ? {} : { input }),
      });
    }
  }

  #tablesOf({ plan, attention, pageTokens }: Layer): StepTables {
    const { slidingWindow } = plan.geometry;
    const { slots } = attention;
    const shown = [plan.key.class, plan.value.class, slidingWindow, slots, pageTokens];
    const name = JSON.stringify(shown);
    let tables = this.#tables.get(name);
    if (tables === undefined) {
      const { context, ring } = this.#runtime;
      const capacity = itemCapacity(1, slots);
      tables = new StepTables(context, ring, { slots, capacity, slidingWindow, pageTokens });
      this.#tables.set(name, tables);
    }
    return tables;
  }

  dispose(): void {
    for (const tables of this.#tables.values()) tables.dispose();
    this.#scratch.dispose();
  }
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
