/**
 * `--prompt-tokens`: how long the prompt is that statistics of a scheme are taken from.
 */
import { defineScheme, isMeasured, type Scheme, type TensorScheme } from '@lowbit-kv/core';

/**
 * The scheme with its statistics over the tokens of a prompt that follow the sinks; the same scheme when it takes none. At
 * least one token is measured.
 */
export function withPromptStatistics(scheme: Scheme, promptTokens: number): Scheme {
  const statisticsTokens = Math.max(1, promptTokens - scheme.sinks);
  const tensor = (spec: TensorScheme): TensorScheme =>
    spec.bits === 16 || spec.transforms === undefined
      ? spec
      : {
          ...spec,
          transforms: spec.transforms.map((step) =>
            isMeasured(step) ? { ...step, statisticsTokens } : step,
          ),
        };
  const { key, value, overrides, ...rest } = scheme;
  return defineScheme({
    ...rest,
    key: tensor(key),
    value: tensor(value),
    ...(overrides !== undefined && {
      overrides: overrides.map((override) => ({
        ...override,
        ...(override.key !== undefined && { key: tensor(override.key) }),
        ...(override.value !== undefined && { value: tensor(override.value) }),
      })),
    }),
  });
}
