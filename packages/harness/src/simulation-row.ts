/**
 * The row of a simulation: replayed as a scheme is, with float64 attention over the keys and values it gives.
 */
import {
  type LayerCalibration,
  type LayerSimulation,
  LowbitKvError,
  type SchemeSimulation,
} from '@lowbit-kv/core';
import type { CaptureData } from './capture-data.js';
import type { LayerTensors } from './capture-layers.js';
import type { CompareRun } from './compare-run.js';
import { exactAttention } from './exact-attention.js';
import { attendedKeys } from './held-cache.js';
import { outputError } from './metrics.js';
import { keysAt } from './pre-rope.js';
import { prefillTokens } from './replay.js';
import type { SimulatedRow, UnmeasuredRow } from './report.js';
import { type OnStep, refusedRow } from './scheme-row.js';
import { headErrors, tensorError } from './tensor-error.js';
import { simulationVerdict } from './verdict.js';

export async function simulationRow(
  run: CompareRun,
  simulation: SchemeSimulation,
  onStep: OnStep,
): Promise<SimulatedRow | UnmeasuredRow> {
  const { id, title } = simulation;
  try {
    return await simulate(run, simulation, onStep);
  } catch (error) {
    return refusedRow(error, { id, title, fingerprint: null });
  }
}

async function simulate(
  run: CompareRun,
  simulation: SchemeSimulation,
  onStep: OnStep,
): Promise<SimulatedRow> {
  const { data, exact, source } = run;
  const { id, title, references, stage } = simulation;
  const calibrated = await simulation.calibrate?.(source.samples(stage));
  const states = data.layers.map((layer, place) =>
    createLayer(data, simulation, layer, calibrated?.[place]),
  );
  const outputs = await replaySimulation(run, simulation, states, onStep);
  const { kvHeads, keyHeadDim, valueHeadDim } = data.sizes;
  const numbers = data.layers.map(({ index }) => index);
  const output = outputError(outputs, exact, numbers, data.sizes);
  const counts = (states[0] as LayerSimulation).counts();
  const keys = states.map((state) => state.keys());
  const values = states.map((state) => state.values());
  return {
    status: 'simulated',
    id,
    title,
    references: [...references],
    held: (['key', 'value'] as const).map((tensor) => ({ tensor, ...counts[tensor] })),
    key: tensorError(
      data.layers.map((layer, i) =>
        headErrors(keys[i] as Float32Array, keysAt(layer, stage).exact, kvHeads, keyHeadDim),
      ),
      numbers,
    ),
    value: tensorError(
      data.layers.map((layer, i) =>
        headErrors(values[i] as Float32Array, layer.exact.value, kvHeads, valueHeadDim),
      ),
      numbers,
    ),
    output,
    calibration: calibrated === undefined ? null : source.note,
    verdict: simulationVerdict(output, [
      ...notFinite('keys', keys, numbers, data.sizes.tokens),
      ...notFinite('values', values, numbers, data.sizes.tokens),
    ]),
  };
}

function createLayer(
  { sizes }: CaptureData,
  simulation: SchemeSimulation,
  { index }: LayerTensors,
  calibration: LayerCalibration | undefined,
): LayerSimulation {
  const { kvHeads, keyHeadDim, valueHeadDim } = sizes;
  return simulation.createLayer({
    ...{ layer: index, kvHeads, keyHeadDim, valueHeadDim },
    ...(calibration === undefined ? {} : { calibration }),
  });
}

/** One forward call for the tokens before the first query, then one per token; each query attends after its own. */
async function replaySimulation(
  { data, pause }: CompareRun,
  { stage }: SchemeSimulation,
  states: readonly LayerSimulation[],
  onStep: OnStep,
) {
  const { tokens, queries, stride, queryHeads, keyHeadDim, valueHeadDim } = data.sizes;
  const prefill = prefillTokens(data);
  const steps = tokens - prefill + (prefill > 0 ? 1 : 0);
  const outputs = data.layers.map(() => ({
    output: new Float64Array(queries * queryHeads * valueHeadDim),
    logSumExp: new Float64Array(queries * queryHeads),
  }));
  const forward = (first: number, count: number) => {
    for (const [place, layer] of data.layers.entries()) {
      const rows = (bits: Uint16Array) => {
        const width = bits.length / tokens;
        return bits.subarray(first * width, (first + count) * width);
      };
      (states[place] as LayerSimulation).append(rows(keysAt(layer, stage).bits), rows(layer.value));
    }
  };
  let done = 0;
  if (prefill > 0) {
    forward(0, prefill);
    onStep(++done, steps);
  }
  for (let position = prefill; position < tokens; position++) {
    await pause();
    forward(position, 1);
    const row = (position - prefill) / stride;
    for (const [place, layer] of Number.isInteger(row) ? data.layers.entries() : []) {
      const state = states[place] as LayerSimulation;
      const width = queryHeads * keyHeadDim;
      const attended = exactAttention(
        {
          key: attendedKeys(wholeOf(state.keys(), layer.exact.key, position, data), data, stage),
          value: wholeOf(state.values(), layer.exact.value, position, data),
          query: layer.query.subarray(row * width, (row + 1) * width),
        },
        { ...data.sizes, tokens: position + 1, queries: 1, stride: 1 },
      );
      outputs[place]?.output.set(attended.output, row * queryHeads * valueHeadDim);
      outputs[place]?.logSumExp.set(attended.logSumExp, row * queryHeads);
    }
    onStep(++done, steps);
  }
  return outputs;
}

/** Throws MEASUREMENT_INVALID when a simulation lost or invented tokens. */
function wholeOf(
  given: Float32Array,
  captured: Float32Array,
  position: number,
  { sizes }: CaptureData,
): Float32Array {
  const length = (captured.length / sizes.tokens) * (position + 1);
  if (given.length === length) return given;
  throw new LowbitKvError('MEASUREMENT_INVALID', {
    message: 'a simulation does not hold the tokens that were appended',
    value: given.length,
    valid: `${length} elements`,
    next: 'Report this to the author of the simulation.',
  });
}

/** In words, the layers where published code gives numbers that are not finite. */
function notFinite(
  name: string,
  given: readonly Float32Array[],
  numbers: readonly number[],
  tokens: number,
): string[] {
  return given.flatMap((elements, place) => {
    const width = elements.length / tokens;
    const lost = new Set<number>();
    for (const [i, x] of elements.entries())
      if (!Number.isFinite(x)) lost.add(Math.floor(i / width));
    const share = `${lost.size} of ${tokens} tokens`;
    return lost.size === 0 ? [] : [`${name} of layer ${numbers[place]} in ${share}`];
  });
}
