// What READMEs of scheme packages say about backends is what backends say.
import { readFileSync } from 'node:fs';
import { onnxBackend } from '@lowbit-kv/backend-onnx';
import { type Geometry, referenceBackend } from '@lowbit-kv/core';
import { oaken } from '@lowbit-kv/scheme-oaken';
import { expect, test } from 'vitest';
import { BUILTIN_PACKAGES, builtinSchemes } from '../src/schemes/builtin-schemes.js';
import { LISTED_GEOMETRY, planForSizes } from '../src/schemes/scheme-summary.js';

const BACKENDS = [referenceBackend(), onnxBackend()];
const schemes = await builtinSchemes();

test.each(BUILTIN_PACKAGES)(
  '%s: every preset is executed, and the README refuses nothing',
  (name) => {
    const own = schemes.filter(({ source }) => source === name);
    expect(own.length).toBeGreaterThan(0);
    for (const { scheme } of own) {
      const geometry: Geometry = { ...LISTED_GEOMETRY };
      const plan = planForSizes(scheme, geometry);
      for (const backend of BACKENDS) expect(backend.supports(plan)).toEqual({ kind: 'native' });
    }
    const folder = name.replace('@lowbit-kv/', '../../');
    const readme = readFileSync(new URL(`${folder}/README.md`, import.meta.url), 'utf8');
    expect(readme).not.toMatch(/backend\s+(refuses|does not)/);
  },
);

test('keys before the rotary embedding beside outlier bands: executed by both', () => {
  const plan = planForSizes(oaken({ stage: 'pre-rope' }), LISTED_GEOMETRY);
  for (const backend of BACKENDS) expect(backend.supports(plan)).toEqual({ kind: 'native' });
});
