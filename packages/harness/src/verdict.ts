/**
 * Verdicts in words: the level from the thresholds, the reason from the worst place, the cause and the data.
 */
import type { SchemeData } from '@lowbit-kv/core';
import type { ErrorCause, LayerData, MeasuredRow, OutputError, Verdict } from './report.js';
import { THRESHOLDS } from './thresholds.js';

/** From this ratio on, one tensor is what an error comes from. */
const DOMINANT = 3;
/** From this ratio to the median layer on, an error sits in one layer. */
const CONCENTRATED = 4;
/** From this ratio on, a largest channel makes a group lose its small ones. */
const OUTLIER_CHANNELS = 3;
/** From this share of f16 tokens on, a short capture flatters a scheme. */
const WINDOW_SHARE = 0.25;

export interface VerdictInput {
  readonly scheme: SchemeData;
  readonly row: Pick<MeasuredRow, 'checks' | 'held' | 'output'>;
  readonly cause: ErrorCause | null;
  readonly data: readonly LayerData[];
  readonly tokens: number;
  /** Query heads per kv head. */
  readonly group: number;
}

export function decideVerdict(input: VerdictInput): Verdict {
  const { checks, held, output } = input.row;
  const failed = checks.filter(({ result }) => result === 'failed');
  if (failed.length > 0) {
    return {
      level: 'invalid',
      reason: `self-check failed: ${failed.map(({ name, detail }) => `${name} (${detail})`).join('; ')}`,
    };
  }
  const empty = held.filter(({ packed }) => packed === 0);
  if (empty.length > 0) {
    const tensors = [...new Set(empty.map(({ tensor }) => `${tensor}s`))].join(' and ');
    const all = empty.length === held.length;
    return {
      level: 'unmeasured',
      reason: `${all ? 'nothing was quantized' : `no ${tensors} were quantized`} at this length: all ${input.tokens} tokens are still in f16 windows; use a longer capture`,
    };
  }
  const level = levelOf(output);
  return { level, reason: level === 'safe' ? safeReason(input) : problemReason(input, level) };
}

/** Of published code that stores nothing: how far its attention is off, and where it gives no numbers. */
export function simulationVerdict(output: OutputError, notFinite: readonly string[]): Verdict {
  const reason = [`simulated, no bytes: ${worstPlaces(output)}`];
  if (notFinite.length > 0) reason.push(`not finite: ${notFinite.join(', ')}`);
  return { level: levelOf(output), reason: reason.join('; ') };
}

function levelOf({ worstHead, worstLayer }: OutputError): 'safe' | 'care' | 'unsafe' {
  const within = (head: number, layer: number) =>
    worstHead.nmse !== null &&
    worstLayer.nmse !== null &&
    worstHead.nmse <= head &&
    worstLayer.nmse <= layer;
  if (within(THRESHOLDS.safeWorstHead, THRESHOLDS.safeWorstLayer)) return 'safe';
  return within(THRESHOLDS.careWorstHead, THRESHOLDS.careWorstLayer) ? 'care' : 'unsafe';
}

function safeReason(input: VerdictInput): string {
  return [worstPlaces(input.row.output), ...windowNote(input)].join('; ');
}

function worstPlaces({ worstHead, worstLayer }: OutputError): string {
  const head = `worst head ${figure(worstHead.nmse)} (layer ${worstHead.layer} head ${worstHead.head})`;
  return `${head}, worst layer ${figure(worstLayer.nmse)}`;
}

function problemReason(input: VerdictInput, level: 'care' | 'unsafe'): string {
  const { output } = input.row;
  const { worstHead, worstLayer } = output;
  const head = level === 'unsafe' ? THRESHOLDS.careWorstHead : THRESHOLDS.safeWorstHead;
  const layer = level === 'unsafe' ? THRESHOLDS.careWorstLayer : THRESHOLDS.safeWorstLayer;
  const headDecides = worstHead.nmse === null || worstHead.nmse > head;
  const place = headDecides
    ? `layer ${worstHead.layer} head ${worstHead.head} output NMSE ${figure(worstHead.nmse)} (limit ${head})`
    : `layer ${worstLayer.layer} output NMSE ${figure(worstLayer.nmse)} (limit ${layer})`;
  return [place, ...causeNotes(input), ...windowNote(input)].join('; ');
}

function causeNotes({ cause, data, group, row, scheme }: VerdictInput): string[] {
  if (cause === null || cause.keysOnly === null || cause.valuesOnly === null) return [];
  const { keysOnly, valuesOnly, layer, head } = cause;
  const source =
    keysOnly > DOMINANT * valuesOnly
      ? 'keys'
      : valuesOnly > DOMINANT * keysOnly
        ? 'values'
        : 'keys and values';
  const shares = `keys alone ${figure(keysOnly)}, values alone ${figure(valuesOnly)}`;
  const notes = [`from its ${source} (${shares})`];
  const ratio =
    data.find((facts) => facts.layer === layer)?.keyChannelOutliers[Math.floor(head / group)] ?? 0;
  if (source !== 'values' && ratio >= OUTLIER_CHANNELS && mixesChannels(scheme)) {
    notes.push(
      `keys of layer ${layer} have outlier channels (largest channel ${ratio.toFixed(1)}x the median) that share groups with small ones`,
    );
  }
  const nmses = row.output.layers.map(({ nmse }) => nmse ?? Number.POSITIVE_INFINITY);
  const sorted = nmses.toSorted((a, b) => a - b);
  const median = sorted[Math.floor((sorted.length - 1) / 2)] as number;
  const worst = row.output.worstLayer;
  const one =
    worst.layer === layer && (worst.nmse ?? Number.POSITIVE_INFINITY) > CONCENTRATED * median;
  notes.push(one ? `keep ${source} of layer ${layer} in f16` : `give ${source} more bits`);
  return notes;
}

/** Whether a group of keys holds several channels as they are. */
function mixesChannels({ key }: SchemeData): boolean {
  return key.bits !== 16 && key.groups.along !== 'tokens' && (key.transforms ?? []).length === 0;
}

function windowNote({ row, tokens }: VerdictInput): string[] {
  const shares = row.held.map(({ packed }) => 1 - packed / tokens);
  const largest = Math.max(...shares, 0);
  if (largest < WINDOW_SHARE) return [];
  return [
    `up to ${Math.round(100 * largest)} % of the tokens were still f16 here, a long context has fewer`,
  ];
}

function figure(value: number | null): string {
  return value === null ? 'not finite' : value.toPrecision(2);
}
