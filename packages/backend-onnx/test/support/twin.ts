/**
 * The twin of core's contract suite with ONNX Runtime as the subject.
 */
import { onnxBackend } from '@lowbit-kv/backend-onnx';
import { createPlan, type Geometry, type PlanOptions, type Scheme } from '@lowbit-kv/core';
import { createTwin as createTwinOf, type Twin, type TwinOptions } from '@lowbit-kv/core/contract';
import { calibrationFor } from './schemes.js';

export type { Pair, Twin } from '@lowbit-kv/core/contract';

export const backend = onnxBackend({ intraOpNumThreads: 1 });

export async function createTwin(
  scheme: Scheme,
  geometry: Geometry,
  { blockTokens, ...options }: TwinOptions & Pick<PlanOptions, 'blockTokens'> = {},
): Promise<Twin> {
  const calibration = calibrationFor(scheme, geometry);
  const plan = createPlan(scheme, geometry, {
    ...(blockTokens === undefined ? {} : { blockTokens }),
    ...(calibration === undefined ? {} : { calibration }),
  });
  return createTwinOf(plan, backend, options);
}
