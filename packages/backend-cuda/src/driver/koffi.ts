/**
 * koffi, which calls C functions; loaded when it is first needed.
 */
import { createRequire } from 'node:module';
import { LowbitKvError } from '@lowbit-kv/core';

export type Koffi = typeof import('koffi');
export type Library = ReturnType<Koffi['load']>;

/** Throws BACKEND_UNAVAILABLE when it does not load. */
export function requireKoffi(): Koffi {
  try {
    return createRequire(import.meta.url)('koffi') as Koffi;
  } catch (cause) {
    throw new LowbitKvError('BACKEND_UNAVAILABLE', {
      message: 'koffi, which calls the driver, does not load',
      value: cause instanceof Error ? cause.message : cause,
      valid: `koffi with its library for ${process.platform}-${process.arch}`,
      next: 'Install the dependencies again, with optional dependencies.',
      cause,
    });
  }
}
