// Complaints about a visitor's own scheme stand where they belong in the text.
import { kivi2 } from '@lowbit-kv/scheme-kivi';
import { expect, it } from 'vitest';
import { lineOf, parseCustom, textOf } from '../src/schemes/custom.js';

const text = textOf(kivi2);

function faultIn(changed: string) {
  const parsed = parseCustom(changed);
  if (parsed.kind !== 'fault') throw new Error('accepted');
  const { start, end } = parsed.range;
  return { message: parsed.message, at: changed.slice(start, end), line: lineOf(changed, start) };
}

it('a preset is valid as it is given to edit, under another name', () => {
  const parsed = parseCustom(text);
  expect(parsed).toMatchObject({
    kind: 'scheme',
    scheme: { id: 'my-scheme', key: kivi2.key, value: kivi2.value, sinks: kivi2.sinks },
  });
  expect(text.split('\n').slice(1, 3).join()).toMatch(/specVersion.*,.*"id": "my-scheme"/);
});

it('a wrong value is marked with its name, and the message says what is valid', () => {
  const fault = faultIn(text.replace('"bits": 2', '"bits": 5'));
  expect(fault.at).toBe('"bits": 5');
  expect(fault.message).toMatch(/^SCHEME_INVALID: .*key\.bits.*valid: /);
  expect(fault.line).toBe(text.slice(0, text.indexOf('"bits": 2')).split('\n').length);
});

it('an unknown field is marked, with the name that was meant', () => {
  const fault = faultIn(text.replace('"flush"', '"flsh"'));
  expect(fault.at).toMatch(/^"flsh": \d+$/);
  expect(fault.message).toContain('Did you mean "flush"?');
});

it('a rule over several fields is marked at one of them', () => {
  const fault = faultIn(text.replace('"size": 32', '"size": 12'));
  expect(fault.message).toContain('key');
  expect(fault.at).not.toBe('');
});

it('of a missing field what is around it is marked', () => {
  const fault = faultIn(text.replace(/"sinks": \d+,/, ''));
  expect(fault.message).toContain('sinks');
  expect(fault.line).toBe(1);
});

it.each([
  ['', 1],
  ['{', 1],
  ['{\n "id": tru\n}', 2],
  ['{\n "id": 1,\n}', 3],
  ['{ // no\n}', 1],
])('%j is no JSON', (changed, line) => {
  const fault = faultIn(changed);
  expect(fault.message).toMatch(/^This is no JSON: [a-z ]+ in line \d+\.$/);
  expect(fault.line).toBe(line);
});

it('JSON that is no object is refused by the validator', () => {
  expect(faultIn('7').message).toMatch(/^SCHEME_INVALID: a scheme must be an object/);
});
