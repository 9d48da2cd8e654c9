// Quartiles against figures of numpy 2.
import { expect, it } from 'vitest';
import { spreadOf } from '../../src/testing/index.js';

it('is what numpy.quantile gives, whatever the order', () => {
  expect(spreadOf([9, 1, 4, 16])).toEqual({
    samples: 4,
    minimum: 1,
    lowerQuartile: 3.25,
    median: 6.5,
    upperQuartile: 10.75,
    deviation: 4,
  });
});

it('one outlier moves neither the median nor the deviation', () => {
  const { median, deviation, upperQuartile } = spreadOf([10, 11, 12, 13, 1e9]);
  expect({ median, deviation, upperQuartile }).toEqual({
    median: 12,
    deviation: 1,
    upperQuartile: 13,
  });
});

it('one sample is all of its own figures', () => {
  expect(spreadOf([7])).toEqual({
    ...{ samples: 1, minimum: 7, lowerQuartile: 7, median: 7, upperQuartile: 7, deviation: 0 },
  });
});

it('has no figure for what was not measured', () => {
  expect(spreadOf([1, Number.NaN, 2]).median).toBeNaN();
  expect(() => spreadOf([])).toThrow('number of samples is out of range');
});
