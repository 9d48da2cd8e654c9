/** Settings in the address of the page, and back. What a link says wrongly is told, never taken for something else. */
import { RECIPE_RANGES, type SyntheticRecipe } from './data/synthetic.js';
import { CUSTOM, DEFAULTS, type Settings } from './settings.js';

const NUMBERS = ['layer', 'kvHead', 'token', 'channel', 'query', 'queryHead'] as const;
const WORDS = {
  data: ['shipped', 'synthetic', 'file'],
  tensor: ['key', 'value'],
  backend: ['webgpu', 'reference'],
} as const;
const LARGEST = 1e6;
/** Characters of a scheme of the visitor's own. */
const LONGEST_CUSTOM = 20_000;

export interface ParsedLink {
  readonly settings: Settings;
  /** One sentence for each part of the link that was not taken. */
  readonly notes: readonly string[];
}

/** The query of an address, empty for the defaults. */
export function linkOf(settings: Settings): string {
  const query = new URLSearchParams();
  const put = (name: string, value: string | number, usual: string | number) => {
    if (value !== usual) query.set(name, String(value));
  };
  for (const name of Object.keys(WORDS) as (keyof typeof WORDS)[])
    put(name, settings[name], DEFAULTS[name]);
  for (const name of NUMBERS) put(name, settings[name], DEFAULTS[name]);
  put('schemes', settings.schemes.join(','), DEFAULTS.schemes.join(','));
  for (const name of Object.keys(RECIPE_RANGES) as (keyof SyntheticRecipe)[])
    put(name, settings.synthetic[name], DEFAULTS.synthetic[name]);
  if (settings.schemes.includes(CUSTOM)) query.set('custom', settings.custom);
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

export function parseLink(query: string, presets: readonly string[]): ParsedLink {
  const given = new URLSearchParams(query);
  const notes: string[] = [];
  const refuse = (name: string, text: string, valid: string) =>
    notes.push(`The link says ${name} is “${shortened(text)}”, which can be ${valid}.`);
  const settings: { -readonly [Name in keyof Settings]: Settings[Name] } = { ...DEFAULTS };
  for (const [name, words] of Object.entries(WORDS)) {
    const text = given.get(name);
    if (text === null) continue;
    if ((words as readonly string[]).includes(text)) Object.assign(settings, { [name]: text });
    else refuse(name, text, words.join(' or '));
  }
  for (const name of NUMBERS) {
    const text = given.get(name);
    if (text === null) continue;
    if (/^\d{1,7}$/.test(text) && Number(text) <= LARGEST) settings[name] = Number(text);
    else refuse(name, text, `a whole number up to ${LARGEST}`);
  }
  const synthetic: { -readonly [Name in keyof SyntheticRecipe]: number } = {
    ...DEFAULTS.synthetic,
  };
  for (const [name, { min, max }] of Object.entries(RECIPE_RANGES)) {
    const text = given.get(name);
    if (text === null) continue;
    const value = text.trim() === '' ? Number.NaN : Number(text);
    if (value >= min && value <= max) synthetic[name as keyof SyntheticRecipe] = value;
    else refuse(name, text, `a number from ${min} to ${max}`);
  }
  settings.synthetic = synthetic;
  const custom = given.get('custom');
  if (custom !== null && custom.length <= LONGEST_CUSTOM) settings.custom = custom;
  const schemes = given.get('schemes')?.split(',');
  if (schemes !== undefined) {
    const known = schemes.filter((id) => id === CUSTOM || presets.includes(id));
    for (const id of schemes)
      if (!known.includes(id))
        notes.push(`The link names a scheme that is not here: “${shortened(id)}”.`);
    if (known.length === schemes.length && (known.length === 2 || known.length === 3))
      settings.schemes = known;
    else if (known.length === schemes.length)
      refuse('schemes', schemes.join(','), 'two or three schemes');
  }
  return { settings, notes };
}

function shortened(text: string): string {
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
}
