/**
 * Faults of the calling code that a real driver would not report: they end the test.
 */

/** Behaviour that is undefined on a real card. */
export class FakeViolation extends Error {
  override readonly name = 'FakeViolation';
}

/** Thrown inside kernels: the context fails with this CUresult. */
export class KernelFault extends Error {
  override readonly name = 'KernelFault';
  readonly result: number;

  constructor(result: number, message: string) {
    super(message);
    this.result = result;
  }
}
