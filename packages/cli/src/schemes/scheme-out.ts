/**
 * Scheme files as `tune` writes them.
 */
import { holdsJson, type OutKind } from '../out-file.js';

/** JSON, as `--scheme` reads it. */
export const SCHEME_FILE: OutKind = {
  what: 'one that `lowbit-kv tune` wrote',
  extension: '.json',
  holds: (path) =>
    holdsJson(
      path,
      (content) => typeof content === 'object' && content !== null && 'schemeFile' in content,
    ),
};
