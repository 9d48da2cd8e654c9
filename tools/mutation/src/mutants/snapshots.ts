// Mutants of snapshots: what is written, and what is refused when it is read.
import { mutant, type Target } from '../mutant.js';

const tests = [
  'cache/snapshot.test.ts',
  'cache/shared-pages.test.ts',
  'cache/snapshot-unused-slots.test.ts',
  'golden.test.ts',
  'programs/random-programs.test.ts',
];

export const snapshotTargets: readonly Target[] = [
  {
    file: 'cache/snapshot.ts',
    tests,
    mutants: [
      mutant(
        'bound',
        'slots before a shared run are cleared',
        'first: Math.min(range.first, entry.slot)',
        'first: Math.max(range.first, entry.slot)',
      ),
      mutant(
        'place',
        'a page that two entries name has one holder',
        'if (seen.has(key)) pools[i]?.retain(kind, page);',
        '',
      ),
      mutant(
        'place',
        'pages that no entry names stay taken',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: text of a source.
        'if (!seen.has(`${i} ${kind} ${page}`)) pools[i]?.release(kind, page);',
        '',
      ),
      mutant('place', 'every section gets the first bytes', 'at += size;', ''),
    ],
  },
  {
    file: 'cache/check-snapshot.ts',
    tests,
    mutants: [
      mutant(
        'bound',
        'a packed page may be a token longer than a block',
        'tokens > blockTokens)',
        'tokens > blockTokens + 1)',
      ),
      mutant(
        'bound',
        'an entry may reach a slot past its page',
        'entry.slot + entry.count > slots ',
        'entry.slot + entry.count > slots + 1 ',
      ),
      mutant(
        'bound',
        'a statistics page one past the last is accepted',
        'state.statistics >= counts.statistics',
        'state.statistics > counts.statistics',
      ),
      mutant(
        'bound',
        'entries may reach past the length',
        'if (position !== length)',
        'if (position < length)',
      ),
      mutant(
        'bound',
        'a run of sinks may be a token too long',
        'next === SINK && position > pageClass.sinks',
        'next === SINK && position > pageClass.sinks + 1',
      ),
      mutant(
        'bound',
        'the first sink of a sliding window may be missing',
        'if (firstSeen > 0) invalidSnapshot',
        'if (firstSeen > 1) invalidSnapshot',
      ),
      mutant(
        'choice',
        'statistics that no measurement gives are accepted',
        'if (fault === null) return;',
        'return;',
      ),
    ],
  },
  {
    file: 'cache/snapshot-header.ts',
    tests,
    mutants: [
      mutant(
        'place',
        'sections of several pages overlap',
        'offset += pages * size;',
        'offset += size;',
      ),
    ],
  },
];
