/**
 * A slow, obvious model of one sequence: its f16 tokens, and by the window law which of them were packed together.
 * It knows no pages; what packed tokens decode to it asks the quantizer, one group at a time.
 */
import { decodeF16 } from '../float16.js';
import { decodeTokens } from '../law/decode.js';
import { encodeTokens, type PackedTensorPlan } from '../law/encode.js';
import { measureStatistics } from '../law/statistics.js';
import { Transforms } from '../law/transforms.js';
import { canonicalizePage } from '../plan/canonical.js';
import type { PageClass, TensorPlan } from '../plan/plan.js';
import { ClassModel, type Group, type TokenRows } from './class-model.js';

export class SequenceModel {
  readonly classes: ClassModel[];
  readonly rollback: number;
  /** `[layer][position]`. */
  tokens: TokenRows[][];
  /** Statistics pages per layer and tensor, once taken. */
  statistics = new Map<string, Uint16Array>();
  #memo: Map<string, Float32Array>;

  constructor(
    classes: readonly PageClass[],
    layers: number,
    rollback: number,
    memo = new Map<string, Float32Array>(),
  ) {
    this.classes = classes.map((rule) => new ClassModel(rule));
    this.rollback = rollback;
    this.tokens = Array.from({ length: layers }, () => []);
    this.#memo = memo;
  }

  get length(): number {
    return this.tokens[0]?.length ?? 0;
  }

  copy(): SequenceModel {
    const copy = new SequenceModel([], 0, this.rollback, this.#memo);
    copy.classes.push(...this.classes.map((model) => model.copy()));
    copy.tokens = this.tokens.map((rows) => [...rows]);
    copy.statistics = new Map(this.statistics);
    return copy;
  }

  append(rows: readonly (readonly TokenRows[])[]): void {
    const before = this.length;
    for (const [layer, added] of rows.entries()) this.tokens[layer]?.push(...added);
    for (const model of this.classes) {
      model.append(before, rows[0]?.length ?? 0, this.rollback);
      for (const group of model.blocks.flatMap(({ groups }) => groups)) {
        if (group.rows.length > 0) continue;
        const { position, size } = group;
        group.rows = this.tokens.map((held) => held.slice(position, position + size));
      }
    }
  }

  truncate(length: number): void {
    for (const rows of this.tokens) rows.length = length;
    for (const model of this.classes) model.truncate(length);
  }

  /** Takes the statistics that the last append made possible. Call after `append`. */
  takeStatistics(plans: readonly { key: TensorPlan; value: TensorPlan }[]): void {
    for (const [layer, pair] of plans.entries()) {
      for (const tensor of ['key', 'value'] as const) {
        const plan = pair[tensor];
        const model = this.classes[plan.class] as ClassModel;
        const name = `${layer} ${tensor}`;
        if (!model.statisticsTaken || this.statistics.has(name) || plan.scheme.bits === 16)
          continue;
        const { sinks, statisticsTokens } = model.rule;
        const rows = this.#rows(layer, tensor, sinks, statisticsTokens);
        this.statistics.set(name, measureStatistics(plan, rows));
      }
    }
  }

  /** f32 `[length, heads, headDim]` as attention sees it. */
  values(plan: TensorPlan, layer: number): Float32Array {
    const width = plan.heads * plan.headDim;
    const result = new Float32Array(this.length * width);
    result.set(decodeF16(this.#rows(layer, plan.tensor, 0, this.length)));
    const statistics = this.statistics.get(`${layer} ${plan.tensor}`);
    for (const block of (this.classes[plan.class] as ClassModel).blocks) {
      for (const group of block.groups) {
        const decoded = this.#decode(plan as PackedTensorPlan, layer, group, statistics);
        result.set(decoded.subarray(0, group.valid * width), group.position * width);
      }
    }
    return result;
  }

  /** Canonical blocks, in order. */
  blocks(
    plan: TensorPlan,
    layer: number,
  ): { position: number; validTokens: number; bytes: Uint8Array }[] {
    if (plan.layout === null) return [];
    const { layout } = plan;
    const statistics = this.statistics.get(`${layer} ${plan.tensor}`) ?? null;
    return (this.classes[plan.class] as ClassModel).blocks.map((block) => {
      const bytes = new Uint8Array(layout.pageBytes);
      let slot = 0;
      for (const { size, valid, rows: packed } of block.groups) {
        const rows = join((packed[layer] ?? []).map((row) => row[plan.tensor]));
        encodeTokens(plan as PackedTensorPlan, rows, size, statistics, bytes, slot);
        slot += valid;
      }
      canonicalizePage(layout, bytes, slot);
      return { position: block.groups[0]?.position ?? -1, validTokens: slot, bytes };
    });
  }

  #decode(
    plan: PackedTensorPlan,
    layer: number,
    { size, rows: packed }: Group,
    statistics: Uint16Array | undefined,
  ): Float32Array {
    const { heads, headDim, layout } = plan;
    const rows = join((packed[layer] ?? []).map((row) => row[plan.tensor]));
    const key = `${layer} ${plan.tensor} ${rows.join()} ${statistics?.join() ?? ''}`;
    const known = this.#memo.get(key);
    if (known !== undefined) return known;
    const page = new Uint8Array(layout.pageBytes);
    encodeTokens(plan, rows, size, statistics ?? null, page, 0);
    const result = new Float32Array(size * heads * headDim);
    const head = new Float32Array(size * headDim);
    const transforms = Transforms.of(plan, statistics ?? null);
    for (let h = 0; h < heads; h++) {
      decodeTokens(plan, page, h, 0, size, head);
      for (let i = 0; i < size; i++) {
        const vector = Float64Array.from(head.subarray(i * headDim, (i + 1) * headDim));
        transforms?.invert(vector, 0, h, 1);
        result.set(vector, (i * heads + h) * headDim);
      }
    }
    this.#memo.set(key, result);
    return result;
  }

  #rows(layer: number, tensor: 'key' | 'value', first: number, count: number): Uint16Array {
    const rows = (this.tokens[layer] ?? []).slice(first, first + count);
    return join(rows.map((row) => row[tensor]));
  }
}

function join(parts: readonly Uint16Array[]): Uint16Array {
  const result = new Uint16Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    result.set(part, at);
    at += part.length;
  }
  return result;
}
