"""Errors of plain group quantizers on normal data, computed apart from the TypeScript, and how often upstream rules code otherwise.

usage: python3 packages/scheme-baselines/test/normal-error.py
"""

import numpy as np

generator = np.random.default_rng(12345)


def f16(x):
    return x.astype(np.float16).astype(np.float64)


def half_away(x):
    return np.sign(x) * np.floor(np.abs(x) + 0.5)


def asymmetric(x, bits):
    largest = 2**bits - 1
    zero = f16(x.min(1, keepdims=True))
    scale = f16((x.max(1, keepdims=True) - zero) / largest)
    code = np.clip(np.rint((x - zero) / scale), 0, largest)
    return code, code * scale + zero


def symmetric(x, bits):
    largest = 2 ** (bits - 1) - 1
    scale = f16(np.abs(x).max(1, keepdims=True) / largest)
    code = np.clip(np.rint(x / scale), -largest, largest)
    return code, code * scale


def signed_scale(x, bits):
    half = 2 ** (bits - 1)
    extreme = np.take_along_axis(x, np.abs(x).argmax(1)[:, None], 1)
    scale = f16(-extreme / half)
    code = np.clip(np.rint(x / scale), -half, half - 1)
    return code, code * scale


def q8_0(x, bits):
    scale = np.abs(x).max(1, keepdims=True) / 127
    code = half_away(x / scale)
    return code, code * f16(scale)


def q4_0(x, bits):
    scale = -np.take_along_axis(x, np.abs(x).argmax(1)[:, None], 1) / 8
    code = np.minimum(15, np.floor(x / scale + 8.5)) - 8
    return code, code * f16(scale)


def qserve_kv4(x, bits):
    span = x.max(1, keepdims=True) - x.min(1, keepdims=True)
    scale = f16(span / 15)
    zero = f16(-15 * x.min(1, keepdims=True) / span)
    # No clamp: the code is masked to a nibble.
    code = np.rint(x / scale + zero) % 16
    return code, (code - zero) * scale


def lmdeploy(x, bits):
    largest = 2**bits - 1
    scale = (x.max(1, keepdims=True) - x.min(1, keepdims=True)) / largest
    zero = -x.min(1, keepdims=True) / scale
    code = np.floor(x / scale + zero + 0.5)
    return code, (code - f16(zero)) * f16(scale)


def nearest(levels, x):
    codes = np.searchsorted((levels[1:] + levels[:-1]) / 2, x)
    return codes, levels[codes]


def with_negatives(positive):
    return np.concatenate([-positive[::-1], [0], positive])


E2M1 = with_negatives(np.array([0.5, 1, 1.5, 2, 3, 4, 6]))
# The upper half of the bytes is negative; 127 is NaN, 0 zero.
E4M3_BYTES = np.arange(1, 127)
E4M3 = with_negatives(
    np.where(
        E4M3_BYTES < 8,
        E4M3_BYTES / 512,
        (1 + E4M3_BYTES % 8 / 8) * 2.0 ** (E4M3_BYTES // 8 - 7),
    )
)


def fp8(x, bits):
    factor = f16(448 / np.abs(x).max())
    code, level = nearest(E4M3, x * factor)
    return code, level / factor


def nvfp4(x, bits):
    factor = f16(448 * 6 / np.abs(x).max())
    scale = nearest(E4M3, np.abs(x).max(1, keepdims=True) * factor / 6)[1]
    code, level = nearest(E2M1, x * factor / scale)
    return code, level * scale / factor


def mxfp4(x, bits):
    scale = 2 ** (np.floor(np.log2(np.abs(x).max(1, keepdims=True))) - 2)
    code, level = nearest(E2M1, x / scale)
    return code, level * scale


def relative_error(x, decoded):
    return np.sqrt(np.square(x - decoded).sum() / np.square(x).sum())


def normal(size, mean=0.0):
    return f16(mean + generator.standard_normal((4_000_000 // size, size)))


print("relative root mean square error, mean 0")
for rule, bits, size in [
    (asymmetric, 2, 32),
    (asymmetric, 4, 32),
    (asymmetric, 8, 64),
    (asymmetric, 8, 128),
    (symmetric, 8, 64),
    (symmetric, 8, 128),
    (asymmetric, 4, 64),
    (asymmetric, 4, 128),
    (symmetric, 4, 64),
    (symmetric, 4, 128),
    (symmetric, 8, 32),
    (signed_scale, 4, 32),
    (fp8, 8, 64),
    (nvfp4, 4, 16),
    (mxfp4, 4, 32),
]:
    x = normal(size)
    print(f"  {rule.__name__:13} {bits} bits, {size:3}: {relative_error(x, rule(x, bits)[1]):.4g}")

print("codes that differ, and both errors over the deviation")
for ours, theirs, bits, size, mean in [
    (symmetric, q8_0, 8, 32, 0),
    (signed_scale, q4_0, 4, 32, 0),
    (asymmetric, lmdeploy, 8, 128, 0),
    (asymmetric, lmdeploy, 4, 128, 0),
    (asymmetric, qserve_kv4, 4, 128, 0),
    (asymmetric, qserve_kv4, 4, 128, 30),
]:
    x = normal(size, mean)
    (a, decoded), (b, upstream) = ours(x, bits), theirs(x, bits)
    errors = [np.sqrt(np.square(x - y).mean()) for y in (decoded, upstream)]
    print(
        f"  {theirs.__name__:11} {bits} bits, {size:3}, mean {mean:2}: {np.mean(a != b):.2%}, {errors[0]:.4g} {errors[1]:.4g}"
    )
