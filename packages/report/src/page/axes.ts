/** Ticks of logarithmic axes. */

/** Powers of ten from `low` to `high`; twos and fives between them where there are fewer than three. */
export function decimalTicks(low: number, high: number): number[] {
  const ticksOf = (factors: readonly number[]) => {
    const ticks: number[] = [];
    for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++)
      for (const factor of factors) ticks.push(+`${factor}e${power}`);
    return ticks.filter((tick) => tick >= low && tick <= high);
  };
  const tens = ticksOf([1]);
  return tens.length >= 3 ? tens : ticksOf([1, 2, 5]);
}

export function decimalText(value: number): string {
  if (value >= 1e4 || value < 1e-3) return value.toExponential(0).replace('e+', 'e');
  return String(+value.toPrecision(1));
}

/** Powers of four from `low` to `high`. */
export function powersOfFour(low: number, high: number): number[] {
  const first = Math.ceil(Math.log2(low) / 2);
  const last = Math.floor(Math.log2(high) / 2);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => 4 ** (first + i));
}

/** At most `most` of them, evenly. */
export function thinned<Item>(items: readonly Item[], most: number): Item[] {
  const every = Math.max(1, Math.ceil(items.length / most));
  return items.filter((_, i) => i % every === 0);
}
