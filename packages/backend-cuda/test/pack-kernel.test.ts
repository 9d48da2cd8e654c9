// The pack kernel as a host program, all bytes of memory against the reference: whole pages, steps into pages that are partly
// filled, rows from windows and inputs.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { elementsOf, shareOfToday } from '../../core/test/support/share-of-today.js';
import { KINDS } from './support/pack/data.js';
import { buildHostProgram, compiler, type HostProgram } from './support/pack/host-program.js';
import { allInstances, type Instance, instanceLine, nameOf } from './support/pack/instances.js';
import { differenceOf, type Launch, type LaunchShape, launchOf } from './support/pack/launches.js';

const instances = allInstances();

describe.skipIf(compiler === undefined)('the pack kernel on the host', () => {
  let program: HostProgram;

  beforeAll(() => {
    program = buildHostProgram('pack-host.cpp', {
      'instances.inc': instances.map(instanceLine).join(''),
    });
  }, 120_000);

  afterAll(() => program.remove());

  const cases = instances.map((instance, number) => ({ name: nameOf(instance), instance, number }));
  test.each(elementsOf(cases, shareOfToday('packing instances', 6)))(
    '$name',
    ({ instance, number }) => {
      const launches = shapesOf(instance, number).map((shape, i) =>
        launchOf(instance, number, shape, 1000 * number + i),
      );
      const output = program.run(Buffer.concat(launches.map(({ job }) => job)));
      expect(differencesOf(launches, output)).toEqual(launches.map(() => undefined));
    },
  );
});

function differencesOf(launches: readonly Launch[], output: Uint8Array) {
  let end = 0;
  return launches.map(({ expected }) => {
    end += expected.length;
    return differenceOf(output.subarray(end - expected.length, end), expected);
  });
}

/** All kinds of data come in turn. */
function shapesOf({ along, groupSize }: Instance, turn: number): LaunchShape[] {
  const names = Object.keys(KINDS);
  const kinds = (i: number) =>
    [0, 1].map((k) => names[(2 * (turn + i) + k) % names.length] as string);
  const whole = { slot: 0, count: 128 };
  const parts =
    along === 'tokens'
      ? [
          { slot: 0, count: groupSize, windowed: Math.min(groupSize, 40) },
          { slot: 128 - groupSize, count: groupSize, windowed: 0 },
        ]
      : [
          { slot: (turn * 37) % 128, count: 1, windowed: turn % 2 },
          { slot: 5, count: 70, windowed: 33 },
          { slot: 0, count: 1 + ((turn * 29) % 90), windowed: 0 },
          { slot: 127, count: 1, windowed: 0 },
        ];
  return [
    {
      heads: 2,
      kinds: kinds(0),
      packs: [
        { ...whole, windowed: 0 },
        { ...whole, windowed: 45 },
      ],
    },
    { heads: 2, kinds: kinds(3), packs: [{ ...whole, windowed: 0 }] },
    { heads: 2, kinds: kinds(5), packs: parts },
  ];
}
