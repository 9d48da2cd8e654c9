# Root mean square error of each code set on normal data in groups of 32, f16 parameters, in numpy: no code of this package.
import numpy as np

groups = np.random.default_rng(1).standard_normal((400_000, 32)).astype(np.float32)
f16 = lambda x: x.astype(np.float16).astype(np.float32)
rmse = lambda decoded: float(np.sqrt(np.mean((decoded - groups) ** 2.0)))

for bits in (2, 3, 4):
    top = 2**bits - 1
    zero = f16(groups.min(1, keepdims=True))
    scale = f16((groups.max(1, keepdims=True) - zero) / top)
    codes = np.clip(np.rint((groups - zero) / scale), 0, top)
    print(f"{bits} bits asymmetric: {rmse(codes * scale + zero):.4f}")

    half = 2 ** (bits - 1)
    at = np.abs(groups).argmax(1)[:, None]
    scale = f16(-np.take_along_axis(groups, at, 1) / half)
    codes = np.clip(np.rint(groups / scale), -half, half - 1)
    print(f"{bits} bits symmetric:  {rmse(codes * scale):.4f}")
