/**
 * How the groups of golden tensors lie in data of `[batch, heads, tokens, dim]`.
 */

export interface Grouping {
  readonly shape: readonly number[];
  readonly along: 'tokens' | 'channels';
  readonly size: number;
  /** Along tokens: whether parameters are `[head, channel, group]` instead of `[head, group, channel]`. */
  readonly channelFirst?: boolean;
}

/** Element indices of one group after another, in the order of the parameters. */
export function groupIndices(grouping: Grouping): Int32Array[] {
  const [batch, heads, tokens, dim] = grouping.shape as [number, number, number, number];
  const { along, size, channelFirst = false } = grouping;
  const stride = along === 'tokens' ? dim : 1;
  const group = (start: number) => Int32Array.from({ length: size }, (_, i) => start + i * stride);
  const found: Int32Array[] = [];
  for (let head = 0; head < batch * heads; head++) {
    const base = head * tokens * dim;
    if (along === 'channels') {
      for (let start = 0; start < tokens * dim; start += size) found.push(group(base + start));
    } else if (channelFirst) {
      for (let channel = 0; channel < dim; channel++)
        for (let token = 0; token < tokens; token += size)
          found.push(group(base + token * dim + channel));
    } else {
      for (let token = 0; token < tokens; token += size)
        for (let channel = 0; channel < dim; channel++)
          found.push(group(base + token * dim + channel));
    }
  }
  return found;
}

export function pick(data: Float32Array, indices: Int32Array): Float32Array {
  return Float32Array.from(indices, (index) => data[index] as number);
}
