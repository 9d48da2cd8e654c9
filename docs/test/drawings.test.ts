// Drawings say what the plans of the packages say: groups, windows, planes of a block, pages, bands.
import { readFileSync } from 'node:fs';
import { windowCounts } from '@lowbit-kv/core';
import { parseHTML } from 'linkedom';
import MarkdownIt from 'markdown-it';
import { beforeAll, describe, expect, test } from 'vitest';
import { regionsOf } from '../src/drawings/block.js';
import { DRAWINGS, drawing, drawings } from '../src/drawings/index.js';
import { WIDTH } from '../src/drawings/picture.js';
import { drawnTensors, type Presets, shippedPresets } from '../src/drawings/plans.js';

let presets: Presets;
beforeAll(async () => {
  presets = await shippedPresets();
});

function drawn(request: string) {
  const { document } = parseHTML(drawing(request, presets));
  const svg = document.querySelector('svg') as NonNullable<
    ReturnType<typeof document.querySelector>
  >;
  const shapes = [...svg.querySelectorAll('rect')].map((rect) => ({
    what: rect.getAttribute('data-what') ?? '',
    kind: rect.getAttribute('class') ?? '',
    x: Number(rect.getAttribute('x')),
    y: Number(rect.getAttribute('y')),
    width: Number(rect.getAttribute('width')),
    height: Number(rect.getAttribute('height')),
  }));
  const texts = [...svg.querySelectorAll('text')].map((text) => text.textContent ?? '');
  return { document, svg, shapes, texts };
}
const tensorsOf = (preset: string) => drawnTensors(presets.get(preset) as never);

test('every preset is drawn inside the picture, and named for those who do not see it', () => {
  for (const preset of presets.keys()) {
    for (const request of ['groups', 'windows', 'packing', 'pages']) {
      const { svg, shapes, document } = drawn(`${request} ${preset}`);
      const height = Number(svg.getAttribute('viewBox')?.split(' ')[3]);
      expect(shapes.length, `${request} ${preset}`).toBeGreaterThan(1);
      for (const { x, y, width, height: tall } of shapes) {
        expect(Math.min(x, y), `${request} ${preset}`).toBeGreaterThanOrEqual(0);
        expect(Math.min(width, tall), `${request} ${preset}`).toBeGreaterThan(0);
        expect(x + width, `${request} ${preset}`).toBeLessThanOrEqual(WIDTH + 0.02);
        expect(y + tall, `${request} ${preset}`).toBeLessThanOrEqual(height);
      }
      expect(svg.getAttribute('role')).toBe('img');
      expect(svg.getAttribute('aria-label')).toContain(preset);
      expect(document.querySelector('desc')?.textContent).toMatch(/^[A-Z].*\.$/);
      expect(document.querySelector('figcaption')?.textContent).toMatch(/\.$/);
    }
  }
});

test('groups: two along their long side and twelve across, of the sizes of the plan', () => {
  const { shapes, texts, document } = drawn('groups kivi-4bit-g32');
  const of = (name: string) => shapes.filter(({ what }) => what === `group of ${name}`);
  expect([of('keys').length, of('values').length]).toEqual([24, 24]);
  const [key, value] = [of('keys')[0], of('values')[0]];
  expect(key && key.height > 5 * key.width).toBe(true);
  expect(value && value.width > 5 * value.height).toBe(true);
  expect(texts).toEqual(
    expect.arrayContaining(['↓ 64 tokens', '↓ 12 tokens', 'Values: 64 channels →']),
  );
  expect(document.querySelector('desc')?.textContent).toContain(
    'A group of keys is one channel over 32 tokens: 4 bits an element, and scale (f16) and zero (f16).',
  );
  expect(shapes.filter(({ kind }) => kind === 'fill-marked')).toHaveLength(2);
  expect(
    drawn('groups oaken-sm').shapes.filter(({ what }) => what === 'group of keys'),
  ).toHaveLength(12);
});

test.each(['kivi-4bit-g32', 'innerq-base', 'oaken-sm'])('windows of %s', (preset) => {
  const { shapes } = drawn(`windows ${preset}`);
  const bars = shapes.filter(({ what }) => / of 512: /.test(what));
  const counts = tensorsOf(preset).map(({ rule }) => windowCounts(rule, 512));
  expect(bars.map(({ what }) => what)).toEqual(
    counts.flatMap((count) =>
      (['sinks', 'packed', 'tail'] as const)
        .filter((part) => count[part] > 0)
        .map((part) => `${part} of 512: ${count[part]}`),
    ),
  );
  for (const { what, width } of bars)
    expect(width).toBeCloseTo((WIDTH * Number(what.split(': ')[1])) / 512, 1);
});

test('packing: no token is lost in any row, and the words say when it begins', () => {
  const { shapes, document } = drawn('packing kivi-4bit-g32');
  const rows = new Map<string, number>();
  for (const { what, y, x } of shapes) {
    const [, , length, count] = /^(\w+) of (\d+): (\d+)$/.exec(what) ?? [];
    if (length === undefined) continue;
    const row = `${x < 190 ? 'keys' : 'values'} ${y} ${length}`;
    rows.set(row, (rows.get(row) ?? 0) + Number(count));
  }
  expect(rows.size).toBe(20);
  for (const [row, sum] of rows) expect(sum, row).toBe(Number(row.split(' ')[2]));
  expect(document.querySelector('desc')?.textContent).toBe(
    'Keys are packed first at 128 tokens (128 of them), then 128 tokens every 128 steps. Values are packed first at 129 tokens (1 of them), then 1 token every step.',
  );
});

describe('block', () => {
  test('names every plane of every preset, and sizes add up', () => {
    let blocks = 0;
    for (const [preset, scheme] of presets) {
      for (const [i, name] of (['keys', 'values'] as const).entries()) {
        const layout = drawnTensors(scheme)[i]?.plan.layout;
        if (!layout) continue;
        blocks++;
        const regions = regionsOf(layout, 0);
        expect(
          regions.reduce((sum, { bytes }) => sum + bytes, 0),
          preset,
        ).toBe(layout.headBytes);
        for (const [at, region] of regions.entries())
          expect(region.offset).toBe(
            at === 0 ? 0 : (regions[at - 1]?.offset ?? 0) + (regions[at - 1]?.bytes ?? 0),
          );
        const shared = layout.parametersShared ? regionsOf(layout, null) : [];
        expect(
          shared.reduce((sum, { bytes }) => sum + bytes, 0),
          preset,
        ).toBe(layout.sharedBytes);
        const { texts } = drawn(`block ${preset} ${name}`);
        for (const region of [...regions, ...shared]) {
          expect(texts, preset).toContain(region.name);
          expect(texts, preset).toContain(String(region.bytes));
        }
      }
    }
    expect(blocks).toBeGreaterThan(20);
  });

  test('of KIVI keys: codes, scales and minima', () => {
    const { texts } = drawn('block kivi-4bit-g32 keys');
    expect(texts).toEqual([
      'One head, 128 tokens: 10240 bytes',
      'offset',
      'bytes',
      'codes',
      '0',
      '8192',
      '128 x 64 B',
      'scale',
      '8192',
      '1024',
      '512 x f16',
      'zero',
      '9216',
      '1024',
      '512 x f16',
    ]);
  });
});

test('pages: a box for each head of each page, with the bytes of the plan', () => {
  const { shapes, document } = drawn('pages kivi-4bit-g32');
  expect(shapes.filter(({ what }) => what === 'head of a page of keys')).toHaveLength(2 * 3 * 8);
  expect(document.querySelector('desc')?.textContent).toContain(
    'A page of keys holds 128 tokens of 8 heads of one layer in 81,920 bytes.',
  );
});

test('bands: five along the line, with the shares of the scheme', () => {
  const { shapes, texts } = drawn('bands oaken-sm');
  expect(shapes.filter(({ what }) => what.endsWith(' band')).map(({ what }) => what)).toEqual(
    ['outer', 'middle', 'inner', 'middle', 'outer'].map((band) => `${band} band`),
  );
  expect(texts).toEqual(expect.arrayContaining(['outerLow', 'innerLow', 'innerHigh', 'outerHigh']));
  expect(texts.join(' ')).toMatch(/4 % outer: .* 90 % middle: 4 bits, dense .*6 % inner/);
});

describe('what cannot be drawn is a fault that names what can', () => {
  test.each([
    [
      'circle kivi-4bit-g32',
      /unknown name "circle"; valid: groups, windows, bands, pages, packing, block/,
    ],
    ['groups kivi', /unknown preset "kivi"; valid: kivi-2bit-g32, /],
    ['groups', /unknown preset ""/],
    ['groups kivi-4bit-g32 keys', /arguments "keys"; valid: none/],
    ['block kivi-4bit-g32', /arguments ""; valid: keys, values/],
    ['block kivi-4bit-g32 queries', /arguments "queries"; valid: keys, values/],
    ['bands kivi-4bit-g32', /preset without it "kivi-4bit-g32"; valid: oaken-sm, oaken-mm, /],
    ['constructor kivi-4bit-g32', /unknown name "constructor"/],
  ])('%s', (request, message) => {
    expect(() => drawing(request, presets)).toThrow(message);
  });
});

test('comments of documents are drawn, the same each time; other comments stay', () => {
  const markdown = new MarkdownIt({ html: true });
  drawings(markdown, presets);
  const text = 'Before.\n\n<!-- draw: groups kivi-4bit-g32 -->\n\n<!-- note -->\n\nAfter.';
  const html = markdown.render(text);
  expect(html).toContain(drawing('groups kivi-4bit-g32', presets));
  expect(html).toContain('<!-- note -->');
  expect(html).not.toContain('draw:');
  expect(markdown.render(text)).toBe(html);
  expect(Object.keys(DRAWINGS)).toHaveLength(6);
});

test.each([
  'text <!-- draw: groups kivi-4bit-g32 -->',
  '<!-- draw groups kivi-4bit-g32 -->',
  '<p>\n<!-- draw: groups kivi-4bit-g32 -->\n</p>',
])('a request that is written wrong is a fault: %j', (text) => {
  const markdown = new MarkdownIt({ html: true });
  drawings(markdown, presets);
  expect(() => markdown.render(text)).toThrow(/is not drawn here\. Write it on a line of its own/);
});

test('a request that is shown as code is left alone', () => {
  const markdown = new MarkdownIt({ html: true });
  drawings(markdown, presets);
  const text = '`<!-- draw: x -->`\n\n```\n<!-- draw: x -->\n```\n';
  expect(markdown.render(text).match(/&lt;!-- draw: x --&gt;/g)).toHaveLength(2);
});

describe('colours stand out from the paper of both themes', () => {
  const style = readFileSync(new URL('../.vitepress/theme/style.css', import.meta.url), 'utf8');
  const light = /:root \{[^}]*\}/.exec(style)?.[0] ?? '';
  const dark = /\.dark \{[^}]*\}/.exec(style)?.[0] ?? '';
  test.each([
    ['light', light, '#ffffff'],
    ['dark', dark, '#1b1b1f'],
  ])('%s', (_, theme, paper) => {
    const colors = [...theme.matchAll(/--drawing-(\w+): (#\w{6});/g)];
    const kinds = [...style.matchAll(/^\.fill-(\w+) \{/gm)].map(([, kind]) => kind);
    expect(colors.map(([, kind]) => kind).sort()).toEqual(kinds.sort());
    for (const [, kind, color = ''] of colors)
      expect(contrast(color, paper), kind).toBeGreaterThanOrEqual(3);
  });
});

/** Of WCAG 2: 1 to 21. */
function contrast(one: string, other: string): number {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

function luminance(color: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
