/** Where a token of a head lies in what a scheme stores: a slot of a packed block, or an f16 window. */
import type { ExportedBlock, LayerPlan, PackedTensorPlan, PageClass } from '@lowbit-kv/core';
import type { TensorName } from '../settings.js';
import type { SchemeRun } from './run-scheme.js';

export type TokenPlace = PackedPlace | { readonly kind: 'f16' | 'sink' | 'tail' };

export interface PackedPlace {
  readonly kind: 'packed';
  readonly plan: PackedTensorPlan;
  readonly block: ExportedBlock;
  /** Number of the block among those of the head. */
  readonly number: number;
  /** Of the head among those of the block. */
  readonly head: number;
  readonly slot: number;
}

/** The part of the layer that stores a head. */
export function unitOf({ plans }: SchemeRun, head: number): LayerPlan {
  return plans.layer.layers.find(({ heads }) => heads.includes(head)) as LayerPlan;
}

export function classOf(run: SchemeRun, tensor: TensorName, head: number): PageClass {
  return run.plans.layer.classes[unitOf(run, head)[tensor].class] as PageClass;
}

export function locate(
  run: SchemeRun,
  tensor: TensorName,
  { head, token }: { readonly head: number; readonly token: number },
): TokenPlace {
  const plan = unitOf(run, head)[tensor];
  if (plan.layout === null || plan.scheme.bits === 16) return { kind: 'f16' };
  const own = run.blocks[tensor].filter(({ heads }) => heads.includes(head));
  const number = own.findIndex(
    ({ position, validTokens }) => token >= position && token < position + validTokens,
  );
  const block = own[number];
  if (block === undefined)
    return { kind: token < classOf(run, tensor, head).sinks ? 'sink' : 'tail' };
  return {
    kind: 'packed',
    plan: plan as PackedTensorPlan,
    block,
    number,
    head: block.heads.indexOf(head),
    slot: token - block.position,
  };
}

/** The block of the token, or the first one where the token lies in a window. Null when nothing is packed. */
export function nearestPlace(
  run: SchemeRun,
  tensor: TensorName,
  place: { readonly head: number; readonly token: number },
): PackedPlace | null {
  const found = locate(run, tensor, place);
  if (found.kind === 'packed') return found;
  const first = run.blocks[tensor].find(({ heads }) => heads.includes(place.head));
  if (first === undefined) return null;
  const moved = locate(run, tensor, { ...place, token: first.position });
  return moved.kind === 'packed' ? moved : null;
}
