// Faults belong to the step whose job failed: an abandoned step must not spoil another one.
import { expect, test } from 'vitest';
import { JobQueue } from '../src/job-queue.js';

const fail = (text: string) => async () => {
  throw new Error(text);
};

/** As the store enqueues: the fault is reported by settle, so the promise itself may go unread. */
function enqueue(queue: JobQueue, step: number | null, job: () => Promise<unknown>): void {
  queue.enqueue(step, job).catch(() => undefined);
}

test('settle throws the first fault of its own step, once', async () => {
  const queue = new JobQueue();
  enqueue(queue, 1, fail('first of 1'));
  enqueue(queue, 1, fail('second of 1'));
  enqueue(queue, 2, fail('first of 2'));
  await queue.settle(3);
  await expect(queue.settle(1)).rejects.toThrow('first of 1');
  await queue.settle(1);
  await expect(queue.settle(2)).rejects.toThrow('first of 2');
});

test('faults of a forgotten step are dropped, also those still to come', async () => {
  const queue = new JobQueue();
  let release: (() => void) | undefined;
  const gate = new Promise<void>((done) => {
    release = done;
  });
  enqueue(queue, null, () => gate);
  enqueue(queue, 1, fail('late'));
  queue.forget(1);
  enqueue(queue, 2, async () => 'fine');
  release?.();
  await queue.settle(2);
  await queue.settle(1);
});

test('jobs run in order, also after a fault', async () => {
  const queue = new JobQueue();
  const order: number[] = [];
  enqueue(queue, 1, async () => order.push(1));
  enqueue(queue, 1, fail('stop'));
  const last = queue.enqueue(null, async () => order.push(2));
  await last;
  expect(order).toEqual([1, 2]);
});
