/** Where the figures of a report come from: names and values, in the order in which they are shown. */
import {
  type AnyReport,
  isComparison,
  type NamedBench,
  type ReportContext,
} from '../report-kind.js';

export type Fact = readonly [name: string, value: string];

export function provenanceFacts(report: AnyReport, context: ReportContext): Fact[] {
  const own = isComparison(report) ? compareFacts(report) : evalFacts(report);
  const command = context.command ?? (isComparison(report) ? null : report.command);
  const said = new Set(own.map(([name]) => name));
  const given: [string, string | null | undefined][] = [
    ['command', command],
    ['version', context.version],
    ['source commit', context.commit],
    ['machine', context.machine],
  ];
  return [
    ...given.flatMap(([name, value]): Fact[] =>
      typeof value === 'string' && !said.has(name) ? [[name, value]] : [],
    ),
    ...(context.shards ?? []).map(
      ({ shard, command: shardCommand, machine }): Fact => [
        `shard ${shard}`,
        [shardCommand, machine].filter((text) => text !== null).join('; '),
      ],
    ),
    ...own,
    ['report version', String(report.reportVersion)],
    ['verdict thresholds', Object.entries(report.thresholds).map(pair).join(', ')],
    ...(context.benches ?? []).map(benchFact),
  ];
}

function compareFacts(report: Extract<AnyReport, { capture: unknown }>): Fact[] {
  const { capture, backend, replay, reference } = report;
  const dims =
    capture.keyHeadDim === capture.valueHeadDim
      ? `${capture.keyHeadDim}`
      : `${capture.keyHeadDim} (keys), ${capture.valueHeadDim} (values)`;
  return [
    ['capture', capture.file],
    ['capture SHA-256', capture.sha256],
    ...Object.entries(capture.provenance).map(([name, value]): Fact => [`capture ${name}`, value]),
    [
      'geometry',
      `layers ${capture.layers.join(', ')} of ${capture.modelLayers ?? 'an unknown number'}; ${capture.queryHeads} query heads, ${capture.kvHeads} kv heads, head dim ${dims}; ${capture.tokens} tokens, ${capture.queries} queries`,
    ],
    ['backend', `${backend.id} (${backend.device})`],
    ['replay', replay.description],
    ['reference', reference],
  ];
}

function evalFacts(report: Exclude<AnyReport, { capture: unknown }>): Fact[] {
  const { model, text, windows, settings } = report;
  return [
    ['model', `${model.name}, ${model.layers} layers, vocabulary ${model.vocabularySize}`],
    ['model fingerprint', model.fingerprint],
    ['text', `${text.name}, ${text.tokens} tokens`],
    ['text SHA-256', text.sha256],
    ['windows', windows.description],
    ['SHA-256 of the evaluated tokens', windows.tokensSha256],
    ...Object.entries(settings),
  ];
}

function benchFact({ name, report }: NamedBench): Fact {
  const { date, tool, command, machine, backends } = report;
  const devices = backends.map(({ id, device, driver, clocks, clock, copy }) =>
    [
      `${id}: ${device}`,
      ...(driver === null ? [] : [driver]),
      ...(clocks === null ? [] : [`clocks ${clocks.before} before, ${clocks.after} after`]),
      `times of the ${clock === 'gpu' ? 'GPU' : 'host'}`,
      `a copy at ${(copy.bytesPerSecond / 1e9).toPrecision(3)} GB/s`,
    ].join(', '),
  );
  const by = `lowbit-kv ${tool.version}${tool.commit === null ? '' : `, commit ${tool.commit}`}`;
  const on = `${machine.processor}, ${machine.platform}, ${machine.runtime}`;
  return [
    'benchmark',
    [name, date, by, on, ...devices, ...(command === null ? [] : [command])].join('; '),
  ];
}

function pair([name, value]: [string, number]): string {
  return `${name} ${value}`;
}
