/** One comparison, or a shard of it: replays its units of work. */
import * as z from 'zod';
import { checkExact, checkSwapped, requirePassed } from './checks.js';
import type { CompareOptions } from './compare-options.js';
import { type CompareRun, prepareRun, requireBackend } from './compare-run.js';
import { type CompareWork, compareGroups, compareWork } from './compare-work.js';
import { F16 } from './f16-scheme.js';
import { compareReportSchema, type ReportCheck } from './report.js';
import {
  type Inspect,
  measureScheme,
  type PlannedScheme,
  planScheme,
  unlessSchemeRefused,
} from './scheme-row.js';
import { simulationRow } from './simulation-row.js';
import { jsonCodec } from './work/json.js';
import { unitNames } from './work/partition.js';
import { Records } from './work/records.js';

/** What a unit of a comparison gives. */
export const compareUnitSchema = z.strictObject({
  row: compareReportSchema.shape.schemes.element,
  /** Of the whole run, with f16. */
  checks: compareReportSchema.shape.checks.optional(),
});

export type CompareUnit = z.infer<typeof compareUnitSchema>;

const UNIT = jsonCodec(compareUnitSchema);

export class Comparison {
  readonly work: CompareWork;
  readonly #options: CompareOptions;
  readonly #run: CompareRun;
  readonly #records: Records;

  private constructor(options: CompareOptions, run: CompareRun, work: CompareWork) {
    this.#options = options;
    this.#run = run;
    this.work = work;
    this.#records = new Records(options.store);
  }

  /** Reads the capture and computes the truth. Throws BACKEND_UNAVAILABLE, and what reading the capture throws. */
  static async open(options: CompareOptions): Promise<Comparison> {
    const device = await requireBackend(options.backend);
    const run = await prepareRun(options);
    return new Comparison(options, run, compareWork(options, run, device));
  }

  /** Results by unit, f16 first: of all units, or of those named; of none when none is. Throws MEASUREMENT_INVALID. */
  async measure(
    units: ReadonlySet<string> = new Set(unitNames(compareGroups(this.work))),
  ): Promise<Map<string, CompareUnit>> {
    const results = new Map<string, CompareUnit>();
    if (units.size === 0) return results;
    const { schemes, simulations = [], backend } = this.#options;
    const f16 = await this.#baseline();
    requirePassed(f16.checks ?? [], backend.id);
    results.set(F16.id, f16);
    for (const [i, scheme] of schemes.entries()) {
      if (!units.has(scheme.id)) continue;
      await this.#run.pause();
      const onStep = this.#stepOf(scheme.id, i + 1);
      const measure = async (planned: PlannedScheme) => ({
        row: await measureScheme(this.#run, planned, onStep),
      });
      const result = await unlessSchemeRefused(scheme, async () =>
        this.#keeping(await planScheme(this.#run, scheme), measure),
      );
      results.set(scheme.id, 'row' in result ? result : { row: result });
    }
    for (const [i, simulation] of simulations.entries()) {
      if (!units.has(simulation.id)) continue;
      const onStep = this.#stepOf(simulation.id, schemes.length + i + 1);
      results.set(simulation.id, { row: await simulationRow(this.#run, simulation, onStep) });
    }
    return results;
  }

  async #baseline(): Promise<CompareUnit> {
    return this.#keeping(await planScheme(this.#run, F16), async (planned) => {
      const checks: ReportCheck[] = [];
      const inspect: Inspect = async ({ cache, sequence }) => {
        const { data, exact } = this.#run;
        checks.push(await checkSwapped(data, cache, sequence, exact));
      };
      const row = await measureScheme(this.#run, planned, this.#stepOf(F16.id, 0), inspect);
      checks.unshift(...row.checks, checkExact(row.output));
      const reason = 'f16, exact: what the others are measured against';
      return { row: { ...row, verdict: { level: 'baseline', reason } }, checks };
    });
  }

  /** What the store has of a scheme, or what `measure` gives, which is kept. Simulations are code: they have no key. */
  async #keeping(
    planned: PlannedScheme,
    measure: (planned: PlannedScheme) => Promise<CompareUnit>,
  ): Promise<CompareUnit> {
    const { scheme, plan, memoryPlan, calibrated } = planned;
    const { schemes: _, ...work } = this.work;
    const identity = {
      kind: 'row',
      work,
      settings: this.#options.settings ?? {},
      scheme: { id: scheme.id, title: scheme.title },
      plans: [plan.fingerprint, memoryPlan.fingerprint],
      calibration: calibrated?.note ?? null,
    };
    const kept = await this.#records.read(identity, UNIT);
    if (kept !== null) return kept;
    const result = await measure(planned);
    if (result.checks === undefined || !result.checks.some(({ result }) => result === 'failed'))
      await this.#records.write(identity, result, UNIT);
    return result;
  }

  #stepOf(id: string, place: number) {
    return (step: number, steps: number) =>
      this.#options.onProgress?.({
        ...{ id, scheme: place, schemes: this.work.schemes.length + 1 },
        ...{ step, steps },
      });
  }
}
