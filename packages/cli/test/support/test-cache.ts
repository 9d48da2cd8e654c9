/** Where commands under test keep finished parts, unless a test says: never in the home of who runs the tests. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const cache = mkdtempSync(join(tmpdir(), 'lowbit-kv-cache-'));
process.once('exit', () => rmSync(cache, { recursive: true, force: true }));

export const TEST_CACHE = { XDG_CACHE_HOME: cache };
