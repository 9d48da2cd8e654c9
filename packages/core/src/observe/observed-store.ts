/**
 * A store that tells of its calls, and of results of attention that are read back.
 */
import type { AppendJob, AttendJob, AttentionResult, BlockStore, PageRequest } from '../backend.js';
import type { LayerPlan, Plan } from '../plan/plan.js';
import type { EventSource } from './event-source.js';
import type { AppendInputs, AttendInputs, LayerInputs, PagesInputs } from './events.js';
import { countSources, summarizeTensor, summarizeWork } from './job-summary.js';

/** `store`: its number in events. */
export function observeStore(
  inner: BlockStore,
  plan: Plan,
  store: number,
  source: EventSource,
): BlockStore {
  const outputs = () => ({});
  const place = (unit: number) => placeOf(plan, unit);
  const read = (result: AttentionResult, attend: number, unit: number): AttentionResult => ({
    output: result.output,
    logSumExp: result.logSumExp,
    read: () =>
      source.later(
        {
          ...{ type: 'read', store },
          inputs: () => ({ ...place(unit), attend }),
          outputs: ({ output, logSumExp }) => ({
            bytes: output.data.byteLength + (logSumExp?.data.byteLength ?? 0),
          }),
        },
        () => result.read(),
      ),
  });
  return {
    get allocatedBytes() {
      return inner.allocatedBytes;
    },
    append: (job) =>
      source.now(
        { ...{ type: 'append', store }, inputs: () => appendInputs(plan, job, source), outputs },
        () => inner.append(job),
      ),
    attend: (job) =>
      source.now(
        { ...{ type: 'attend', store }, inputs: () => attendInputs(plan, job, source), outputs },
        (call) => read(inner.attend(job), call, job.layer),
      ),
    settle: (step) =>
      source.later({ ...{ type: 'settle', store }, inputs: () => ({ step }), outputs }, () =>
        inner.settle(step),
      ),
    forget: (step) =>
      source.now({ ...{ type: 'forget', store }, inputs: () => ({ step }), outputs }, () =>
        inner.forget(step),
      ),
    readPages: (request) =>
      source.later(
        {
          ...{ type: 'read-pages', store },
          inputs: () => pagesInputs(plan, request),
          outputs: ({ byteLength }) => ({ bytes: byteLength }),
        },
        () => inner.readPages(request),
      ),
    writePages: (request, bytes) =>
      source.later(
        {
          ...{ type: 'write-pages', store },
          inputs: () => ({ ...pagesInputs(plan, request), bytes: bytes.byteLength }),
          outputs,
        },
        () => inner.writePages(request, bytes),
      ),
    dispose: () =>
      source.now({ ...{ type: 'dispose', store }, inputs: () => ({}), outputs }, () =>
        inner.dispose(),
      ),
  };
}

function placeOf({ layers }: Plan, unit: number): LayerInputs {
  return { layer: (layers[unit] as LayerPlan).layer, unit };
}

function appendInputs(plan: Plan, job: AppendJob, { withValues }: EventSource): AppendInputs {
  return {
    step: job.step,
    ...placeOf(plan, job.layer),
    sequences: job.rows.length,
    tokens: job.rows.reduce((sum, { count }) => sum + count, 0),
    key: summarizeTensor(job.key, withValues),
    value: summarizeTensor(job.value, withValues),
    work: { key: summarizeWork(job.work.key), value: summarizeWork(job.work.value) },
  };
}

function attendInputs(plan: Plan, job: AttendJob, { withValues }: EventSource): AttendInputs {
  const { sequences } = job;
  return {
    step: job.step,
    ...placeOf(plan, job.layer),
    sequences: sequences.length,
    queries: sequences.reduce((sum, { queries }) => sum + queries, 0),
    tokens: sequences.reduce((sum, { length }) => sum + length, 0),
    query: summarizeTensor(job.query, withValues),
    key: countSources(sequences.map(({ key }) => key)),
    value: countSources(sequences.map(({ value }) => value)),
    logSumExp: job.logSumExp,
    into: job.into !== undefined,
  };
}

function pagesInputs(plan: Plan, { layer, tensor, kind, pages }: PageRequest): PagesInputs {
  return { ...placeOf(plan, layer), tensor, kind, pages: pages.length };
}
