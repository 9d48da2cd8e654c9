/** The geometry of what a capture holds. */
import type { Geometry } from '@lowbit-kv/core';
import type { Capture } from './capture.js';
import { geometryOf } from './capture-layers.js';
import { rotaryOf } from './rotary.js';

/** Layers are the captured ones, numbered from 0. The rotary embedding is there when the metadata tell it. */
export function captureGeometry(capture: Capture): Geometry {
  const rotary = rotaryOf(capture.provenance, capture);
  return geometryOf({ sizes: capture, rotary }, capture.layers.length);
}
