// Another process: restores the snapshots that it is sent, on the reference backend, and answers what they hold.
import { createInterface } from 'node:readline';
import { createCache, referenceBackend } from '@lowbit-kv/core';
import { setupOf } from '@lowbit-kv/core/programs';
import { digestOf } from './digest.js';

for await (const line of createInterface({ input: process.stdin })) {
  const { choice, snapshot } = JSON.parse(line);
  const { plan, rollback, tokens, sequences } = setupOf(choice);
  const cache = await createCache(plan, referenceBackend(), {
    capacity: { tokens, sequences },
    rollback,
  });
  const restored = await cache.restore(new Uint8Array(Buffer.from(snapshot, 'base64')));
  console.log(await digestOf(cache, restored));
  cache.dispose();
}
