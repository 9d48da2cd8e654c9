/** Colours of heat maps: steps on a logarithmic scale whose last borders are the limits of the verdicts. */

export interface HeatStep {
  /** Values below it have this colour. */
  readonly below: number;
  readonly color: string;
  readonly label: string;
}

const text = (value: number) => String(+value.toPrecision(2));

export function heatSteps({ safe, care }: { readonly safe: number; readonly care: number }) {
  const borders = [safe / 1000, safe / 100, safe / 10, safe, care];
  const steps: HeatStep[] = borders.map((below, i) => ({
    below,
    color: `var(--heat-${i})`,
    label: i === 0 ? `below ${text(below)}` : `${text(borders[i - 1] as number)} to ${text(below)}`,
  }));
  return [
    ...steps,
    { below: Number.POSITIVE_INFINITY, color: 'var(--heat-5)', label: `from ${text(care)}` },
    { below: Number.NaN, color: 'var(--heat-none)', label: 'not finite' },
  ];
}

export function heatColor(
  value: number | null,
  limits: { readonly safe: number; readonly care: number },
): string {
  const step = heatSteps(limits).find(({ below }) => value !== null && value < below);
  return step?.color ?? 'var(--heat-none)';
}
