// The built page in headless Chromium, without WebGPU: a path through every panel.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openChromium } from '../../../packages/backend-webgpu/test/support/chromium.js';
import { HOSTILE, hostileCapture } from './support/hostile-capture.js';
import {
  buildSite,
  layoutShift,
  type OpenedPage,
  openPlayground,
  type Page,
  settled,
  textOf,
} from './support/open-playground.js';

const folder = mkdtempSync(join(tmpdir(), 'lowbit-kv-playground-'));
const [browser, { site }] = await Promise.all([openChromium(), buildSite()]);
afterAll(async () => {
  await browser.close();
  rmSync(folder, { recursive: true });
});

describe('without WebGPU', () => {
  let opened: OpenedPage;
  let page: Page;
  beforeAll(async () => {
    opened = await openPlayground(browser, site, { gpu: 'none' });
    page = opened.page;
  }, 30_000);
  afterAll(() => page.close());

  it('says so, and shows every panel without anything that moves', async () => {
    expect(await textOf(page, '.where')).toMatch(
      /^Everything runs on the CPU.* because pages have WebGPU only over https/,
    );
    expect(await page.getByRole('heading', { level: 2 }).count()).toBe(8);
    expect(await layoutShift(page)).toBe(0);
    expect(await textOf(page, '#schemes .times')).toMatch(
      /CPU reference: packed in [\d.]+ ms, one query in [\d.]+ ms/,
    );
  });

  it('1 data: another layer, generated numbers with sliders', async () => {
    const before = await textOf(page, '#heat figcaption');
    await page.getByLabel('Layer', { exact: true }).selectOption('0');
    await settled(page);
    expect(await textOf(page, '#heat figcaption')).not.toBe(before);
    await page.getByText('Generated', { exact: true }).click();
    await settled(page);
    const range = async () =>
      Number(/to ([\d.]+)/.exec(await textOf(page, '#heat figcaption'))?.[1]);
    const tame = await range();
    await page.getByLabel('How many times larger they are').fill('20');
    await settled(page);
    expect(await range()).toBeGreaterThan(1.5 * tame);
    expect(await page.evaluate('location.search')).toMatch(/data=synthetic.*outlierStrength=20/);
  });

  it('1 data: a file, whose names are text, and a file that is none', async () => {
    await page.getByText('Your capture', { exact: true }).click();
    const input = page.locator('input[type=file]');
    const capture = join(folder, 'capture.safetensors');
    await hostileCapture(capture);
    await input.setInputFiles(capture);
    await settled(page);
    expect(await textOf(page, '#data')).toContain('96 tokens, 2 heads');
    expect(await textOf(page, '#data dd')).toContain('<img src=x onerror=alert(1)>\\u{202e}');
    await page.evaluate(DROP);
    await page.getByText(/SAFETENSORS_INVALID.*<img src=x/).waitFor();
    expect(await textOf(page, '.drop-title')).toBe(`${HOSTILE.slice(0, -1)}\\u{202e}`);
    await page.getByText('A real model', { exact: true }).click();
    await page.getByLabel('Layer', { exact: true }).selectOption('18');
    await settled(page);
    expect(await textOf(page, '#data .fault')).toBe('');
    expect(await page.locator('img').count()).toBe(0);
  });

  it('2 schemes: another one, a third, and one of the visitor’s own with its faults in place', async () => {
    const error = async (place: number) =>
      Number(
        (await page
          .locator('#schemes dd')
          .nth(4 * place + 2)
          .textContent()) ?? '',
      );
    const two = await error(0);
    await page.getByLabel('Scheme A', { exact: true }).selectOption('kivi-4bit-g32');
    await settled(page);
    expect(await error(0)).toBeLessThan(two / 5);
    await page.getByRole('button', { name: 'Add a third scheme' }).click();
    await page.getByLabel('Scheme C', { exact: true }).selectOption('oaken-sm');
    await settled(page);
    expect(await textOf(page, '#schemes .about')).toContain('Calibrated on the first 992 tokens.');
    await page.getByRole('button', { name: 'Write your own' }).click();
    const area = page.getByLabel('Your own scheme, as JSON');
    const json = await area.inputValue();
    expect(JSON.parse(json)).toMatchObject({ id: 'my-scheme', title: 'My scheme, from oaken-sm' });
    await page.getByLabel('Scheme C', { exact: true }).selectOption('kivi-2bit-g32');
    await page.getByLabel('Scheme C', { exact: true }).selectOption('custom');
    const own = JSON.stringify(
      { ...JSON.parse(KIVI_LIKE), title: '<img src=x onerror=alert(1)>' },
      null,
      2,
    );
    await area.fill(own.replace('"bits": 2', '"bits": 5'));
    await page.getByText(/^Line \d+\. SCHEME_INVALID: .*key\.bits/).waitFor();
    expect(await textOf(page, '#schemes .scheme-C')).toContain('It runs once it is valid.');
    await page.getByRole('button', { name: 'Show the place' }).click();
    expect(await page.evaluate('getSelection().toString()')).toBe('"bits": 5');
    await area.fill(own);
    await page.getByText('Valid: it runs above.').waitFor();
    await settled(page);
    expect(await error(2)).toBeGreaterThan(0);
    expect(await textOf(page, '#schemes h3')).toContain('<img src=x');
  });

  it('a link brings all of it back', async () => {
    const figures = await textOf(page, '#schemes dd');
    const search = (await page.evaluate('location.search')) as string;
    const again = await openPlayground(browser, site, { gpu: 'none', query: search });
    expect(await textOf(again.page, '#schemes dd')).toBe(figures);
    expect(again.said).toEqual([]);
    await again.page.close();
  });

  it('3 pictures: values instead of keys, and an element by pointing or by keys', async () => {
    await page.locator('#heat').getByText('Values', { exact: true }).click();
    expect(await textOf(page, '#heat .readout')).toContain('the value is');
    const canvas = page.locator('#heat canvas').first();
    const box = await canvas.boundingBox();
    await canvas.click({ position: { x: (box?.width ?? 0) / 2, y: 1 } });
    expect(await textOf(page, '#heat .readout')).toMatch(/^Token 512, channel [01]:/);
    await page.getByLabel('Token', { exact: true }).press('ArrowRight');
    expect(await textOf(page, '#heat .readout')).toMatch(/^Token 513, /);
    expect(await textOf(page, '#heat figcaption')).toMatch(/worst channel \d+ .*worst token \d+/);
    const colors = await canvas.evaluate((element) => {
      const { width, height } = element as HTMLCanvasElement;
      const context = (element as HTMLCanvasElement).getContext('2d') as CanvasRenderingContext2D;
      const { data } = context.getImageData(0, 0, width, height);
      return { width, height, colors: new Set(new Uint32Array(data.buffer)).size };
    });
    expect(colors).toMatchObject({ width: 1024, height: 64 });
    expect(colors.colors).toBeGreaterThan(100);
    await page.locator('#heat').getByText('Keys', { exact: true }).click();
  });

  it('4 levels: as many as the bits allow, and none in a window', async () => {
    await page.getByLabel('Token', { exact: true }).fill('400');
    expect(await page.locator('#groups .scheme-A .level').count()).toBe(16);
    expect(await textOf(page, '#groups .scheme-A')).toMatch(
      /Channel \d+, tokens 384 to 415: 32 numbers, 16 levels/,
    );
    await page.getByLabel('Token', { exact: true }).fill('1020');
    await page.locator('#heat').getByText('Values', { exact: true }).click();
    expect(await textOf(page, '#groups .scheme-A')).toContain('still in the f16 tail');
    expect(await page.locator('#groups .scheme-A .level').count()).toBe(0);
    await page.locator('#heat').getByText('Keys', { exact: true }).click();
    await page.getByLabel('Token', { exact: true }).fill('400');
  });

  it('5 bytes: explained by pointing and by arrow keys', async () => {
    const explained = () => textOf(page, '#bytes .explanation');
    expect(await explained()).toMatch(
      /^Byte \d+, [0-9a-f]{2} .*Codes of channel \d+, tokens \d+ to \d+: /,
    );
    await page.locator('#bytes button.chosen').focus();
    const first = await explained();
    await page.keyboard.press('ArrowRight');
    expect(await explained()).not.toBe(first);
    await page.keyboard.press('End');
    expect(await explained()).toMatch(/Zero of channel/);
    await page.locator('#bytes .field').nth(1).locator('button').first().hover();
    expect(await explained()).toMatch(/Scale of channel \d+, tokens \d+ to \d+: [\d.]+/);
    expect(await page.locator('#bytes .bytes button[tabindex="0"]').count()).toBe(1);
  });

  it('6 attention: another query has other weights and another error', async () => {
    const table = await textOf(page, '#attention table');
    expect(table).toMatch(/\d %/);
    await page.getByLabel('Query of token').fill('3');
    expect(await textOf(page, '#attention table')).not.toBe(table);
    await page.getByLabel('Query head', { exact: true }).selectOption({ index: 0 });
    expect(await page.locator('#attention path.line').count()).toBe(3);
  });

  it('7 size: the figures of the planner, which the README has too', async () => {
    await page.getByLabel('Scheme A', { exact: true }).selectOption('kivi-2bit-g32');
    await settled(page);
    const row = await textOf(page, '#size tbody tr:nth-child(2)');
    expect(row).toContain('3.81');
    expect(row).toContain('541 MiB');
    expect(row).toContain('5.32×');
  });

  it('8 windows: played, paused, and one token at a time', async () => {
    const length = async () =>
      Number(/After (\d+) /.exec(await textOf(page, '#windows .readout'))?.[1]);
    const before = await length();
    await page.getByRole('button', { name: 'Play' }).click();
    await page.waitForFunction(
      `!document.querySelector('#windows .readout').textContent.startsWith('After ${before} ')`,
    );
    await page.getByRole('button', { name: 'Pause' }).click();
    const paused = await length();
    expect(paused).toBeGreaterThan(before);
    await page.getByRole('button', { name: 'One token' }).click();
    expect(await length()).toBe(paused + 1);
    await page.getByLabel('Tokens so far').fill('512');
    expect(await textOf(page, '#windows .readout')).toMatch(/After 512 tokens: \d+ packed/);
  });

  it('asked for nothing but its own files, and said nothing', () => {
    expect(opened.foreign).toEqual([]);
    expect(opened.said).toEqual([]);
    expect(opened.asked.filter((name) => name.endsWith('.safetensors'))).not.toEqual([]);
    expect(opened.asked.some((name) => /webgpu/.test(name))).toBe(false);
  });
});

/** A file that is no capture, whose name is markup. */
const DROP = `(() => {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File(['no tensors'], ${JSON.stringify(HOSTILE)}));
  document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
})()`;

const KIVI_LIKE = `{
  "specVersion": 1, "id": "my-scheme", "title": "mine", "sinks": 0, "packing": "after-attention",
  "key": { "bits": 2, "groups": { "along": "tokens", "size": 32 }, "quantizer": { "mode": "asymmetric", "codes": "uniform" },
    "parameters": { "scale": "f16", "zero": "f16" }, "window": { "recent": 0, "flush": 32 } },
  "value": { "bits": 4, "groups": { "along": "channels", "size": 32 }, "quantizer": { "mode": "asymmetric", "codes": "uniform" },
    "parameters": { "scale": "f16", "zero": "f16" }, "window": { "recent": 0, "flush": 1 } },
  "calibration": { "kind": "none" }
}`;
