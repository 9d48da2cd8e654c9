// Links carry every choice, and what a link says wrongly is told.
import { describe, expect, it } from 'vitest';
import { CUSTOM, DEFAULTS, type Settings } from '../src/settings.js';
import { linkOf, parseLink } from '../src/share-link.js';

const PRESETS = ['kivi-2bit-g32', 'lowbit-2-9', 'oaken-sm'];

describe('links', () => {
  it('of the first view are empty', () => {
    expect(linkOf(DEFAULTS)).toBe('');
    expect(parseLink('', PRESETS)).toEqual({ settings: DEFAULTS, notes: [] });
  });

  it('bring every choice back', () => {
    const settings: Settings = {
      data: 'synthetic',
      synthetic: { outlierChannels: 5, outlierStrength: 12, tails: 0.9, means: 2.5, seed: 7 },
      layer: 10,
      kvHead: 1,
      schemes: ['oaken-sm', CUSTOM, 'lowbit-2-9'],
      custom: '{ "id": "a&b=c#d%", "title": "<b>ü</b>\\n+" }',
      tensor: 'value',
      token: 777,
      channel: 3,
      query: 4,
      queryHead: 1,
      backend: 'reference',
    };
    const link = linkOf(settings);
    expect(parseLink(link, PRESETS)).toEqual({ settings, notes: [] });
    expect(Object.keys(settings).filter((name) => name !== 'synthetic')).toEqual(
      [...new URLSearchParams(link).keys()]
        .filter((name) => name in settings)
        .toSorted((a, b) => Object.keys(settings).indexOf(a) - Object.keys(settings).indexOf(b)),
    );
  });

  it('leave the text of a scheme out where it is not in view', () => {
    expect(linkOf({ ...DEFAULTS, custom: 'long' })).toBe('');
  });

  it.each([
    ['?layer=x', 'layer'],
    ['?layer=-1', 'layer'],
    ['?layer=99999999', 'layer'],
    ['?tails=9', 'tails'],
    ['?tails=', 'tails'],
    ['?data=disk', 'data'],
    ['?schemes=kivi-2bit-g32', 'schemes'],
    ['?schemes=kivi-2bit-g32,none-such', 'none-such'],
  ])('%s is told and not taken', (query, name) => {
    const { settings, notes } = parseLink(query, PRESETS);
    expect(settings).toEqual(DEFAULTS);
    expect(notes).toHaveLength(1);
    expect(notes[0]).toContain(name);
  });
});
