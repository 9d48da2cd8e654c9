/** A scheme in a sentence or two, from what its object says. */
import type { GroupScheme, Scheme, TensorScheme } from '@lowbit-kv/core';

export function describeTensor(tensor: TensorScheme): string {
  if (tensor.bits === 16) return 'kept in f16';
  const { groups, transforms = [], outliers, window, stage } = tensor;
  const group = groupText(groups);
  const parts = [`${tensor.bits} bits`, group];
  const steps = [...new Set(transforms.map(({ kind }) => TRANSFORMS[kind]))];
  if (steps.length > 0) parts.push(`after ${steps.join(', ')}`);
  if (stage === 'pre-rope') parts.push('before the rotary embedding');
  if (outliers !== undefined)
    parts.push(
      outliers.kind === 'top' ? `${outliers.count} outliers apart` : 'outlier bands apart',
    );
  if (window.recent > 0) parts.push(`the newest ${window.recent} tokens in f16`);
  if (window.flush > 1) parts.push(`packed ${window.flush} at a time`);
  return parts.join(', ');
}

function groupText(groups: GroupScheme): string {
  if (groups.along === 'vector')
    return `one group for each token of ${groups.scope === 'head' ? 'a head' : 'all heads'}`;
  return groups.along === 'tokens'
    ? `groups of ${groups.size} tokens of a channel`
    : `groups of ${groups.size} channels of a token`;
}

const TRANSFORMS = {
  tensorScale: 'scaling the tensor',
  channelScale: 'scaling each channel',
  channelMean: 'centring each channel',
  channelOrder: 'sorting the channels',
  hadamard: 'a rotation',
} as const;

/** One line for keys, one for values. */
export function describeScheme({ key, value, sinks }: Scheme): readonly [string, string] {
  const kept = sinks > 0 ? ` The first ${sinks} tokens stay f16.` : '';
  return [`Keys: ${describeTensor(key)}.`, `Values: ${describeTensor(value)}.${kept}`];
}
