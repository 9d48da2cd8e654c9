/**
 * While work is pending, dawn in Node polls its driver from one `setImmediate` to the next. SwiftShader computes on the
 * processor that this takes: polls wait here.
 */
const PAUSE_MS = 1;

/** Dawn looks `setImmediate` up whenever it polls. Only native functions without arguments are held back: its own. */
export function pollPatiently(): void {
  const { setImmediate: immediately, setTimeout: later } = globalThis;
  const patiently = (callback: (...values: unknown[]) => void, ...values: unknown[]) =>
    values.length === 0 && isNative(callback)
      ? later(callback, PAUSE_MS)
      : immediately(callback, ...values);
  Object.assign(globalThis, { setImmediate: Object.assign(patiently, immediately) });
}

function isNative(callback: unknown): boolean {
  return Function.prototype.toString.call(callback).includes('[native code]');
}
