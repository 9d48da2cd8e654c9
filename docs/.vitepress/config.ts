/**
 * Where vitepress looks for its configuration.
 */
// Not a plain import: vite would bundle the sources of the packages, which are loaded as they are.
const { href } = new URL('../src/site-config.ts', import.meta.url);
const { siteConfig } = (await import(href)) as typeof import('../src/site-config.js');

export default siteConfig;
