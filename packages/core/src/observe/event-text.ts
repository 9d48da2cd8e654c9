/**
 * An event as a line for people.
 */
import type { BackendEvent } from './events.js';
import type { SourceCounts, TensorSummary, WorkSummary } from './job-summary.js';
import type { PlanSummary, TensorPlanSummary, UnitSummary } from './plan-summary.js';

/** One line: what a call is given, or how long it took and what came of it. */
export function eventText(event: BackendEvent): string {
  const { backend, store, call, type, phase } = event;
  const caller = store === null ? backend : `${backend} store ${store}`;
  const parts =
    phase === 'start'
      ? inputParts(event)
      : [`${event.milliseconds.toFixed(3)} ms`, ...resultParts(event)];
  const told = parts.length === 0 ? '' : `: ${parts.join('; ')}`;
  return `${caller} call ${call} ${type} ${phase}${told}`.replaceAll(/\s*[\r\n]\s*/g, ' ');
}

function inputParts(event: BackendEvent): string[] {
  switch (event.type) {
    case 'supports':
      return [identity(event.plan)];
    case 'create-store':
      return [
        identity(event.plan),
        ...event.plan.units.map(unitText),
        ...event.pages.map(
          ({ packed, window, statistics }, i) =>
            `class ${i} has ${packed} packed, ${window} window and ${statistics} statistics pages`,
        ),
        `non-finite values: ${event.nonFinite}`,
      ];
    case 'append':
      return [
        `step ${event.step}, ${layerText(event)}, ${counted(event.tokens, 'token')} of ${counted(event.sequences, 'sequence')}`,
        `key ${tensorText(event.key)}, ${workText(event.work.key)}`,
        `value ${tensorText(event.value)}, ${workText(event.work.value)}`,
      ];
    case 'attend':
      return [
        `${event.step === null ? 'no step' : `step ${event.step}`}, ${layerText(event)}, ${counted(event.sequences, 'sequence')} of ${counted(event.tokens, 'token')}`,
        `query ${tensorText(event.query)}`,
        `keys ${sourcesText(event.key)}`,
        `values ${sourcesText(event.value)}`,
        ...(event.logSumExp ? ['log-sum-exp too'] : []),
        ...(event.into ? ['into memory of the caller'] : []),
      ];
    case 'read':
      return [`${layerText(event)}, the result of call ${event.attend}`];
    case 'settle':
    case 'forget':
      return [`step ${event.step}`];
    case 'read-pages':
    case 'write-pages':
      return [
        `${layerText(event)}, ${counted(event.pages, `${event.kind} page`)} of ${event.tensor}s`,
      ];
    default:
      return [];
  }
}

function resultParts(event: BackendEvent): string[] {
  if (event.phase === 'start') return [];
  if (event.phase === 'fault') return [event.error.message];
  switch (event.type) {
    case 'probe':
      return [event.answer.ok ? event.answer.device : event.answer.reason];
    case 'supports': {
      const { answer } = event;
      return [answer.kind, ...(answer.kind === 'native' ? [] : answer.reasons)];
    }
    case 'create-store':
      return [`${event.allocatedBytes} bytes allocated`];
    case 'read':
    case 'read-pages':
    case 'write-pages':
      return [`${event.bytes} bytes`];
    default:
      return [];
  }
}

function identity({ scheme, fingerprint, layers }: PlanSummary): string {
  return `scheme ${scheme}, plan ${fingerprint}, ${counted(layers, 'layer')}`;
}

function unitText(unit: UnitSummary): string {
  const { layers, heads, queryHeads, kvHeads, keyHeadDim, valueHeadDim, slidingWindow } = unit;
  return [
    `layers ${ranges(layers)}, kv heads ${ranges(heads)}`,
    `${counted(queryHeads, 'query head')} on ${counted(kvHeads, 'kv head')}`,
    `head dims ${keyHeadDim} and ${valueHeadDim}`,
    ...(slidingWindow === null
      ? []
      : [`a sliding window of ${slidingWindow.size} after ${slidingWindow.sinks} sinks`]),
    ...(unit.softCap === null ? [] : [`soft cap ${unit.softCap}`]),
    ...(unit.rotary ? ['keys before the rotary embedding'] : []),
    `keys ${tensorPlanText(unit.key)}`,
    `values ${tensorPlanText(unit.value)}`,
  ].join(', ');
}

function tensorPlanText({
  bits,
  transforms,
  pageClass,
  block,
  pageBytes,
}: TensorPlanSummary): string {
  const parts = [
    `${bits} bit`,
    ...transforms,
    ...(block === null
      ? []
      : [
          `groups of ${counted(block.tokensPerGroup, 'token')} x ${counted(block.channelsPerGroup, 'channel')}`,
          `${block.tokens} tokens in ${pageBytes.packed} bytes`,
        ]),
    `class ${pageClass}`,
  ];
  return `(${parts.join(', ')})`;
}

function layerText({ layer, unit }: { readonly layer: number; readonly unit: number }): string {
  return layer === unit ? `layer ${layer}` : `layer ${layer} (unit ${unit})`;
}

function tensorText({ type, shape, bytes, device, values }: TensorSummary): string {
  const place = device === null ? '' : ` on ${device}`;
  const text = `${type} [${shape.join(', ')}]${place}, ${bytes} bytes`;
  if (values === undefined) return text;
  const { minimum, maximum, rootMeanSquare, nonFinite } = values;
  const range =
    minimum === null || maximum === null || rootMeanSquare === null
      ? 'no finite value'
      : `${short(minimum)} to ${short(maximum)}, rms ${short(rootMeanSquare)}`;
  return `${text}, ${range}${nonFinite === 0 ? '' : `, ${nonFinite} not finite`}`;
}

function workText({
  copiedPages,
  statisticsPages,
  writtenTokens,
  packedTokens,
}: WorkSummary): string {
  return [
    `${counted(writtenTokens, 'token')} to windows`,
    `${packedTokens} packed`,
    ...(copiedPages === 0 ? [] : [`${counted(copiedPages, 'page')} copied`]),
    ...(statisticsPages === 0 ? [] : [`statistics of ${counted(statisticsPages, 'sequence')}`]),
  ].join(', ');
}

function sourcesText({ packed, window, input }: SourceCounts): string {
  return `${packed} packed, ${window} in windows, ${input} new`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function short(value: number): string {
  return String(Number(value.toPrecision(3)));
}

/** Rising numbers: 0-3, 7. */
function ranges(numbers: readonly number[]): string {
  const runs: [first: number, last: number][] = [];
  for (const number of numbers) {
    const run = runs.at(-1);
    if (run !== undefined && run[1] + 1 === number) run[1] = number;
    else runs.push([number, number]);
  }
  return runs.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(', ');
}
