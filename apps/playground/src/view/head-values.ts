/** One head of keys or values, and how far a stored copy of it is off. */

/** `[tokens, channels]`. */
export interface HeadMap {
  readonly values: Float32Array;
  readonly tokens: number;
  readonly channels: number;
}

/** One head of `[tokens, heads, channels]`. */
export function headMap(all: Float32Array, head: number, heads: number, channels: number): HeadMap {
  const tokens = all.length / heads / channels;
  const values = new Float32Array(tokens * channels);
  for (let token = 0; token < tokens; token++) {
    const from = (token * heads + head) * channels;
    values.set(all.subarray(from, from + channels), token * channels);
  }
  return { values, tokens, channels };
}

export function difference(a: HeadMap, b: HeadMap): HeadMap {
  return { ...a, values: a.values.map((value, i) => (b.values[i] as number) - value) };
}

/** Of finite values. */
export function largestMagnitude({ values }: HeadMap): number {
  let largest = 0;
  for (const value of values) {
    const size = Math.abs(value);
    if (size > largest && size < Number.POSITIVE_INFINITY) largest = size;
  }
  return largest;
}

export interface WorstPlace {
  readonly index: number;
  /** Root mean square. */
  readonly error: number;
  readonly value: number;
}

export interface ErrorPlaces {
  readonly nmse: number;
  readonly channel: WorstPlace;
  readonly token: WorstPlace;
}

/** The channel and the token with the largest error. */
export function errorPlaces(exact: HeadMap, errors: HeadMap): ErrorPlaces {
  const { tokens, channels } = exact;
  const [byChannel, byToken] = [new Float64Array(channels), new Float64Array(tokens)];
  const [channelSize, tokenSize] = [new Float64Array(channels), new Float64Array(tokens)];
  let [error, energy] = [0, 0];
  for (let token = 0, i = 0; token < tokens; token++) {
    for (let channel = 0; channel < channels; channel++, i++) {
      const e = (errors.values[i] as number) ** 2;
      const x = (exact.values[i] as number) ** 2;
      error += e;
      energy += x;
      byChannel[channel] = (byChannel[channel] as number) + e;
      byToken[token] = (byToken[token] as number) + e;
      channelSize[channel] = (channelSize[channel] as number) + x;
      tokenSize[token] = (tokenSize[token] as number) + x;
    }
  }
  return {
    nmse: error === 0 ? 0 : error / energy,
    channel: worst(byChannel, channelSize, tokens),
    token: worst(byToken, tokenSize, channels),
  };
}

function worst(errors: Float64Array, sizes: Float64Array, elements: number): WorstPlace {
  let index = 0;
  for (let i = 1; i < errors.length; i++)
    if (!((errors[i] as number) <= (errors[index] as number))) index = i;
  return {
    index,
    error: Math.sqrt((errors[index] as number) / elements),
    value: Math.sqrt((sizes[index] as number) / elements),
  };
}
