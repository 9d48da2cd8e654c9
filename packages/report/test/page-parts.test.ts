// Parts of the page that can be told without a browser: labels, ticks, heat maps, speed.
import { createDraws } from '@lowbit-kv/core/testing';
import { describe, expect, it } from 'vitest';
import { renderMarkdown } from '../src/index.js';
import { decimalText, decimalTicks, powersOfFour, thinned } from '../src/page/axes.js';
import { type Box, placeLabels, spreadLabels } from '../src/page/labels.js';
import { compareView } from '../src/view/compare-view.js';
import { evalView } from '../src/view/eval-view.js';
import { heatGroup } from '../src/view/heat-map.js';
import { speedView } from '../src/view/speed-view.js';
import { BENCH, compareReport, evalReport } from './support/reports.js';

describe('labels', () => {
  const bounds = { left: 0, right: 300, top: 0, bottom: 300 };
  const overlap = (a: Box, b: Box) =>
    a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

  it('of points cover neither one another nor a point, and stay inside', () => {
    const draw = createDraws(3);
    const points = Array.from({ length: 60 }, () => ({
      x: (300 * draw()) / 4096,
      y: (300 * draw()) / 4096,
      ...{ width: 16, height: 15 },
    }));
    const boxes = placeLabels(points, { bounds, radius: 6 });
    const placed = boxes.filter((box) => box !== null);
    expect(placed.length).toBeGreaterThan(30);
    for (const [i, box] of placed.entries()) {
      expect(placed.slice(i + 1).some((other) => overlap(box, other))).toBe(false);
      expect(
        points.some(({ x, y }) =>
          overlap(box, { left: x - 6, right: x + 6, top: y - 6, bottom: y + 6 }),
        ),
      ).toBe(false);
      expect(box.left >= 0 && box.right <= 300 && box.top >= 0 && box.bottom <= 300).toBe(true);
    }
  });

  it('of the first points are placed before those of later ones', () => {
    const size = { width: 200, height: 200 };
    const [first, second] = placeLabels(
      [
        { x: 50, y: 290, ...size },
        { x: 40, y: 290, ...size },
      ],
      {
        bounds,
        radius: 2,
      },
    );
    expect(first).not.toBeNull();
    expect(second).toBeNull();
  });

  it('at ends of lines keep their distance', () => {
    const at = spreadLabels(
      [30, 10, 12, 11].map((y) => ({ text: String(y), at: y })),
      15,
    );
    expect(at).toEqual([
      { text: '10', at: 10 },
      { text: '11', at: 25 },
      { text: '12', at: 40 },
      { text: '30', at: 55 },
    ]);
  });
});

describe('ticks', () => {
  it('are decades, and parts of them where those are few', () => {
    expect(decimalTicks(0.0005, 2)).toEqual([0.001, 0.01, 0.1, 1]);
    expect(decimalTicks(3, 30)).toEqual([5, 10, 20]);
    expect(decimalTicks(7, 8)).toEqual([]);
    expect([1e-4, 0.001, 0.5, 200, 1e5].map(decimalText)).toEqual([
      '1e-4',
      '0.001',
      '0.5',
      '200',
      '1e5',
    ]);
    expect(powersOfFour(3, 70)).toEqual([4, 16, 64]);
    expect(thinned([1, 2, 3, 4, 5], 2)).toEqual([1, 4]);
    expect(thinned([1, 2], 9)).toEqual([1, 2]);
  });
});

describe('heat maps', () => {
  it('of a comparison hold outputs, keys and values apart, as the report has them, and name the worst', () => {
    const row = compareReport.schemes[1];
    if (row?.status !== 'measured') throw new Error('not measured');
    const map = compareView(compareReport, {}).schemes[1]?.heatMap;
    expect(map?.groups.map(({ name, rows }) => [name, rows.length])).toEqual([
      ['outputs', 9],
      ['keys', 3],
      ['values', 3],
    ]);
    for (const [name, errors] of [
      ['outputs', row.output],
      ['keys', row.key],
      ['values', row.value],
    ] as const) {
      const group = map?.groups.find((one) => one.name === name);
      expect(group?.rows.map(({ values }) => values)).toEqual(
        errors.layers[0]?.heads.map((_, head) => errors.layers.map(({ heads }) => heads[head])),
      );
      const { layer, head } = errors.worstHead;
      expect(group?.worst).toMatch(new RegExp(`^layer ${layer} (kv )?head ${head} \\(`));
    }
    expect(compareView(compareReport, {}).schemes[0]?.heatMap).toBeNull();
  });

  it('of an evaluation have tensors by layer and outputs by head', () => {
    const map = evalView(evalReport, {}).schemes[2]?.heatMap;
    expect(map?.groups.map(({ name }) => name)).toEqual(['keys', 'values', 'outputs', 'heads']);
    expect(map?.groups[0]?.worst).toMatch(/^layer \d+ \(/);
  });

  it('take what is not finite for the worst', () => {
    const group = heatGroup(
      'keys',
      [3, 7],
      [{ label: 'keys', place: 'kv head 0', values: [9, null] }],
    );
    expect(group.worst).toBe('layer 7 kv head 0 (not finite), layer 3 kv head 0 (9.0)');
  });
});

describe('speed', () => {
  it('has a step and a break-even context for each scheme that was measured', () => {
    const view = speedView(compareReport.schemes, [BENCH]);
    expect(view?.unmeasured).toEqual([]);
    const [group, ...more] = view?.groups ?? [];
    expect(more).toEqual([]);
    expect(group).toMatchObject({ backend: 'reference', contexts: [1024, 4096, 16384] });
    expect(group?.source).toBe('a card; card.json');
    expect(group?.lines.map(({ id, breakEven }) => [id, breakEven])).toEqual([
      ['f16', null],
      // 2 us slower at 1024 tokens, 20 us faster at 4096.
      ['four', 'from about 1303 tokens'],
      ['two', 'at 1024 tokens already'],
    ]);
    expect(group?.lines[1]?.points[0]).toEqual({ context: 1024, step: 13, append: 1 });
  });

  it('leaves out another scheme under the same id, and says what was not measured', () => {
    const other = structuredClone(BENCH);
    for (const row of other.report.rows) if (row.scheme === 'four') row.fingerprint = 'another';
    const view = speedView(compareReport.schemes, [other]);
    expect(view?.groups[0]?.lines.map(({ id }) => id)).toEqual(['f16', 'two']);
    expect(view?.unmeasured).toEqual(['four']);
    const without = structuredClone(BENCH);
    without.report.rows = without.report.rows.filter(({ operation }) => operation === 'attend');
    expect(speedView(compareReport.schemes, [without])).toEqual({
      groups: [],
      unmeasured: ['four', 'two'],
    });
    expect(speedView(compareReport.schemes, [])).toBeNull();
  });

  it('is in the Markdown too', () => {
    const text = renderMarkdown(compareReport, { benches: [BENCH] });
    expect(text).toContain('## Speed');
    expect(text).toContain('| `four` | 13 | 21 | 46 | 1 | from about 1303 tokens |');
    expect(renderMarkdown(compareReport)).not.toContain('## Speed');
  });
});
