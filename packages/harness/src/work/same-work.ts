/** Whether shards are of one piece of work. */
import { canonicalJson, LowbitKvError } from '@lowbit-kv/core';
import { differences, under } from '../diff/data.js';
import type { ShardHeader } from './shard.js';
import type { ShardFile } from './shard-file.js';

/** Differences, or units, that a message names; more are counted. */
export const NAMED = 3;

/** Throws MERGE_REFUSED for two shards of different inputs or versions. */
export function requireSameWork(first: ShardFile, other: ShardFile): void {
  const [a, b] = [first.shard.header, other.shard.header];
  const found = [...differences(inputsOf(a), inputsOf(b)), ...factDifferences(a, b)];
  if (found.length === 0) return;
  const named = found
    .slice(0, NAMED)
    .map(({ field, before, after }) => `${field} (${shortened(before)} and ${shortened(after)})`);
  throw mergeRefusal(
    `shards differ in what they measure: ${named.join(', ')}`,
    [first.file, other.file],
    'Merge shards of one command, run by one version on the same files.',
  );
}

/** Whether a shard that is there is the one that would be measured: then it need not be. */
export function isSameShard(there: ShardHeader, wanted: ShardHeader): boolean {
  const facts = (header: ShardHeader) => (header.kind === 'eval' ? header.facts : {});
  return (
    canonicalJson(there.shard) === canonicalJson(wanted.shard) &&
    canonicalJson(facts(there)) === canonicalJson(facts(wanted)) &&
    differences(inputsOf(there), inputsOf(wanted)).length === 0
  );
}

export function mergeRefusal(message: string, value: unknown, next: string): LowbitKvError {
  return new LowbitKvError('MERGE_REFUSED', {
    ...{ message, value, next },
    valid: 'all shards of one comparison or evaluation',
  });
}

/** What has to be equal in all shards: not names of files and machines. */
function inputsOf(header: ShardHeader): Readonly<Record<string, unknown>> {
  const { kind, version, work } = header;
  const schemes = Object.fromEntries(
    work.schemes.map(({ id, fingerprint }, i) => [`schemes[${i}]`, `${id} ${fingerprint}`]),
  );
  if (header.kind === 'compare') {
    const { capture, backend, replay, thresholds, inputs } = header.work;
    const { file: _, ...data } = capture;
    return {
      ...{ kind, version, ...schemes },
      ...under('capture', data),
      ...under('backend', backend),
      ...under('replay', replay),
      ...under('thresholds', thresholds),
      ...under('inputs', inputs),
    };
  }
  const { model, text, windows, settings, thresholds, notedHeads, retrieval } = header.work;
  const { name: _model, ...modelData } = model;
  const { name: _text, ...textData } = text;
  const { machine: _machine, ...otherSettings } = settings;
  return {
    ...{ kind, version, ...schemes, notedHeads, retrieval },
    ...under('model', modelData),
    ...under('text', textData),
    ...under('windows', windows),
    ...under('settings', otherSettings),
    ...under('thresholds', thresholds),
  };
}

/** Plans of schemes that both measure: of another calibration, for example. */
function factDifferences(a: ShardHeader, b: ShardHeader) {
  if (a.kind !== 'eval' || b.kind !== 'eval') return [];
  return Object.entries(a.facts).flatMap(([id, facts]) => {
    const other = b.facts[id];
    if (other === undefined || canonicalJson(facts) === canonicalJson(other)) return [];
    const text = ({ plan, calibration }: typeof facts) => `${plan.slice(0, 12)}, ${calibration}`;
    return [{ field: `plan of ${id}`, before: text(facts), after: text(other) }];
  });
}

function shortened(text: string): string {
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}
