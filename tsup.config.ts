// How every package's JavaScript is built: ESM only.
import { defineConfig } from 'tsup';

// JavaScript only. `tsc` writes the declarations: tsup's own dts step needs the
// TypeScript 5/6 compiler API, which TypeScript 7 does not ship.
export default defineConfig({
  format: 'esm',
  target: 'node20',
  sourcemap: true,
  clean: true,
  dts: false,
});
