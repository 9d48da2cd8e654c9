// How the page is served and built: from the sources of the packages, with addresses that hold in any folder.
import { fileURLToPath } from 'node:url';
import { defaultClientConditions, defineConfig } from 'vite';

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: './',
  resolve: { conditions: ['@lowbit-kv/source', ...defaultClientConditions] },
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Licences of what is in the bundle go along with it.
    license: { fileName: 'license.md' },
  },
});
