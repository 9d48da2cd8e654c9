/**
 * What the window law does to the tokens of one page class of one sequence, as plain arrays: sinks, groups in blocks, a tail.
 * It knows no pages.
 */
import type { PageClass } from '../plan/plan.js';

/** K and V rows of one token in one layer: f16 bits `[heads, headDim]`. */
export type TokenRows = Readonly<Record<'key' | 'value', Uint16Array>>;

/** Tokens packed together: parameters come from all of `rows`, also when only the first `valid` are left. */
export interface Group {
  readonly position: number;
  readonly size: number;
  valid: number;
  /** `[layer][size]`, as they were when they were packed. */
  rows: readonly (readonly TokenRows[])[];
}

interface Block {
  readonly groups: Group[];
}

/** What happened to the tokens of one page class. */
export class ClassModel {
  readonly rule: PageClass;
  sinks = 0;
  blocks: Block[] = [];
  tail = 0;
  /** Statistics are those of the first tokens after the sinks, and stay. */
  statisticsTaken = false;

  constructor(rule: PageClass) {
    this.rule = rule;
  }

  copy(): ClassModel {
    const copy = new ClassModel(this.rule);
    copy.sinks = this.sinks;
    copy.tail = this.tail;
    copy.statisticsTaken = this.statisticsTaken;
    copy.blocks = this.blocks.map(({ groups }) => ({ groups: groups.map((g) => ({ ...g })) }));
    return copy;
  }

  get packed(): number {
    return this.blocks.reduce((sum, block) => sum + countOf(block), 0);
  }

  append(length: number, tokens: number, rollback: number): void {
    if (tokens === 0) return;
    const { sinks, recent, flush, tokensPerGroup, statisticsTokens } = this.rule;
    const newLength = length + tokens;
    const newSinks = flush === 0 ? 0 : Math.min(Math.max(sinks - length, 0), tokens);
    this.sinks += newSinks;
    this.tail += tokens - newSinks;
    if (flush === 0) return;
    if (newLength < sinks + statisticsTokens) return;
    if (statisticsTokens > 0) this.statisticsTaken = true;
    while (this.tail >= recent + rollback + flush) {
      for (let i = 0; i < flush; i += tokensPerGroup) {
        this.#place({
          position: newLength - this.tail,
          size: tokensPerGroup,
          valid: tokensPerGroup,
          rows: [],
        });
        this.tail -= tokensPerGroup;
      }
    }
  }

  #place(group: Group): void {
    const last = this.blocks.at(-1);
    const open =
      last !== undefined &&
      countOf(last) < this.rule.blockTokens &&
      last.groups.every(({ size, valid }) => valid === size);
    if (open) last.groups.push(group);
    else this.blocks.push({ groups: [group] });
  }

  truncate(length: number): void {
    const cut = length - this.sinks;
    const packed = this.packed;
    this.sinks = Math.min(this.sinks, length);
    this.tail = Math.max(Math.min(this.tail, cut - packed), 0);
    for (const block of this.blocks) {
      for (const group of block.groups)
        group.valid = Math.min(group.valid, Math.max(length - group.position, 0));
      block.groups.splice(0, block.groups.length, ...block.groups.filter(({ valid }) => valid > 0));
    }
    this.blocks = this.blocks.filter(({ groups }) => groups.length > 0);
  }
}

function countOf({ groups }: Block): number {
  return groups.reduce((sum, { valid }) => sum + valid, 0);
}
