/**
 * A cut of a program, refused where a sliding window has evicted what would be seen.
 */
import { ensure, ensureRefused } from '../contract/check.js';
import { holdsFrom, type RunContext } from './attend-command.js';
import type { Pair } from './pair.js';
import { LAYERS } from './setups.js';

export async function truncate(context: RunContext, pair: Pair, back: number): Promise<void> {
  const { cache, expected, tally, rollback } = context;
  const length = Math.max(pair.model.length - back, 0);
  let possible = true;
  for (let layer = 0; layer < LAYERS; layer++) {
    const window = expected.layer(layer).geometry.slidingWindow;
    if (window === null) continue;
    const first = Math.max(window.sinks, length - window.size);
    possible &&= await holdsFrom(context, pair, layer, first, length);
  }
  const cut = () => cache.truncate(pair.sequence, length);
  if (!possible) {
    await ensureRefused(cut, ['TRUNCATE_INVALID'], 'a cut to what a window has evicted');
    ensure(pair.longest - length > rollback, 'a cut within `rollback` was refused');
    tally.add('refused truncations');
    return;
  }
  cut();
  pair.model = pair.model.copy();
  pair.model.truncate(length);
  tally.add('truncations');
}
