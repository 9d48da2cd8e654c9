#!/usr/bin/env python3
"""Makes the codes and parameters of every golden page from docs/law.md alone and compares the bytes.

Plain Python with exact fractions, nothing of the TypeScript sources. The input is generated as fixtures/README.md
describes `lcg-ih12`. Prints one line per page; exit status 1 on any difference.
"""

import json
import struct
import sys
from fractions import Fraction
from pathlib import Path

sys.dont_write_bytecode = True
from check_golden import FOLDER, TYPE_BYTES, Layout, f32, parameter_value, read_checked


def f16_bits(value):
    """Nearest f16, ties to even; beyond the range infinity. struct refuses what overflows."""
    try:
        return int.from_bytes(struct.pack("<e", value), "little")
    except OverflowError:
        return 0xFC00 if value < 0 else 0x7C00


def f16_value(bits):
    return struct.unpack("<e", bits.to_bytes(2, "little"))[0]


def lcg_normal(recipe, tokens, heads, head_dim):
    """f16 bits [tokens][heads][head_dim]; channel operations address the last axis."""
    state = recipe["seed"]
    std, mean = recipe.get("std", 1), recipe.get("mean", 0)
    rows = []
    for _ in range(tokens * heads):
        row = []
        for channel in range(head_dim):
            total = 0
            for _ in range(12):
                state = (1664525 * state + 1013904223) % 2**32
                total += state >> 20
            value = (total / 4096 - 6) * std + mean
            for operation in recipe.get("channelOps", []):
                if operation["channel"] == channel:
                    value = value * operation["mul"] + operation["add"]
            row.append(f16_value(f16_bits(value)))
        rows.append(row)
    return [rows[token * heads : (token + 1) * heads] for token in range(tokens)]


# Section 2


def store_scale(value):
    bits = f16_bits(value)
    sign, magnitude = bits & 0x8000, bits & 0x7FFF
    if magnitude == 0:
        return 0
    return sign | min(max(magnitude, 0x0400), 0x7BFF)


def store_offset(value):
    bits = f16_bits(value)
    if bits & 0x7FFF == 0:
        return 0
    return bits & 0x8000 | min(bits & 0x7FFF, 0x7BFF)


def f32_bits(value):
    return int.from_bytes(struct.pack("<f", value), "little")


def exponent(value):
    """floor(log2 value) of a positive number."""
    value, result = Fraction(value), 0
    while value >= 2:
        value, result = value / 2, result + 1
    while value < 1:
        value, result = value * 2, result - 1
    return result


def nearest_bits(kind, value, candidates):
    """Bits of the nearest number, ties to even bits."""
    distance = lambda bits: (abs(Fraction(parameter_value(kind, bits)) - Fraction(value)), bits & 1)
    return min(candidates, key=distance)


def scale_bits(kind, extent, top):
    """The scale of a group whose largest code stands for `top`."""
    if kind == "e8m0":
        return 0 if extent == 0 else min(max(exponent(extent) - exponent(top) + 127, 1), 254)
    ideal = f32(extent * f32(1 / top))
    if kind == "f16":
        return store_scale(ideal)
    if kind == "f32":
        return 0 if ideal == 0 else f32_bits(ideal if abs(ideal) >= 2.0**-126 else 2.0**-126 * (1 if ideal > 0 else -1))
    return 0 if ideal == 0 else nearest_bits(kind, ideal, range(1, 127))


def root_of(kind, square):
    """The scale nearest to a square root, found by the squares of the middles between neighbours."""
    assert kind in ("f16", "e4m3"), kind
    if square == 0:
        return 0
    best, last = (0x0400, 0x7BFF) if kind == "f16" else (1, 126)
    while best < last:
        middle = (Fraction(parameter_value(kind, best)) + Fraction(parameter_value(kind, best + 1))) / 2
        if middle**2 > Fraction(square):
            break
        best += 1
    return best


def zero_bits(kind, value):
    return store_offset(value) if kind == "f16" else 0 if value == 0 else f32_bits(value)


def nearest(difference, step, lowest, highest):
    """clamp(round(difference / step)); Python rounds a Fraction half to even."""
    if step == 0:
        return 0
    return min(max(round(Fraction(difference) / Fraction(step)), lowest), highest)


def affine(values, largest, types=("f16", "f16")):
    """Offset and step bits of a set of numbers (sections 3 and 6)."""
    if not values:
        return 0, 0
    scale, zero = types
    offset = zero_bits(zero, min(values))
    width = max(f32(max(values) - parameter_value(zero, offset)), 0.0)
    return offset, scale_bits(scale, width, largest)


# Sections 3 to 5. An element that is None is no member of its group.


def members(group):
    return [x for x in group if x is not None]


def asymmetric(group, bits, types):
    largest = 2**bits - 1
    zero, scale = affine(members(group), largest, types)
    s, z = parameter_value(types[0], scale), parameter_value(types[1], zero)
    return [0 if x is None else nearest(f32(x - z), s, 0, largest) for x in group], scale, zero


def symmetric(group, bits, kind, scale_type):
    half = 2 ** (bits - 1)
    lowest, divisor = (1 - half, half - 1) if kind == "signmag" else (-half, half)
    extreme = max(members(group), key=abs, default=0.0)  # the first one of largest magnitude
    top = -extreme if kind == "fullSigned" else abs(extreme)
    scale = scale_bits(scale_type, top, divisor)
    s = parameter_value(scale_type, scale)
    return [0 if x is None else nearest(x, s, lowest, half - 1) for x in group], scale


def tree(terms):
    while len(terms) > 1:
        pairs = [f32(terms[i] + terms[i + 1]) for i in range(0, len(terms) - 1, 2)]
        terms = pairs + ([terms[-1]] if len(terms) % 2 else [])
    return terms[0]


def hybrid(group, bits, quantizer, types):
    signed_codes, signed_scale = symmetric(group, bits, quantizer["codes"], types[0])
    codes, scale, zero = asymmetric(group, quantizer["asymmetricBits"], types)
    s, s2 = parameter_value(types[0], signed_scale), parameter_value(types[0], scale)
    z = parameter_value(types[1], zero)
    error = lambda decoded: tree([0.0 if x is None else abs(f32(d - x)) for d, x in zip(decoded, group)])
    error_s = error([f32(code * s) for code in signed_codes])
    error_a = error([f32(f32(code * s2) + z) for code in codes])
    if error_a < error_s or (error_a == error_s and quantizer["tie"] == "asymmetric"):
        return codes, scale | 1 << (8 * TYPE_BYTES[types[0]] - 1), zero
    return signed_codes, signed_scale, 0


def level_codes(group, table, s, z=0.0):
    middles = [f32((a + b) / 2) for a, b in zip(table, table[1:])]
    return [0 if x is None or s == 0 else sum(f32(x - z) > f32(m * s) for m in middles) for x in group]


def levels(group, quantizer, types):
    table = [f32(level) for level in quantizer["codes"]["levels"]]
    scaled_by = quantizer["codes"]["scaledBy"]
    if scaled_by == "none":
        return level_codes(group, table, 1.0), {}
    if quantizer["mode"] == "asymmetric":
        zero, scale = affine(members(group), table[-1], types)
        z = parameter_value(types[1], zero)
        return level_codes(group, table, parameter_value(types[0], scale), z), {"scale": scale, "zero": zero}
    if scaled_by == "rootMeanSquare":
        squares = [0.0 if x is None else f32(x * x) for x in group]
        square = f32(tree(squares) * f32(1 / max(len(members(group)), 1)))
        scale = root_of(types[0], square)
    else:
        largest = max((abs(x) for x in members(group)), default=0.0)
        scale = scale_bits(types[0], largest, max(abs(level) for level in table))
    return level_codes(group, table, parameter_value(types[0], scale)), {"scale": scale}


# Section 6


def bands(vector, edges, kind):
    """Nibbles, outliers as {index: (outer, fifth)}, and the bits of the parameters."""
    low_out, high_out = edges["outerLow"], edges["outerHigh"]
    low_in, high_in = edges["innerLow"], edges["innerHigh"]
    band = ["o" if x <= low_out or x >= high_out else "i" if low_in < x < high_in else "m" for x in vector]
    a = [f32(x - high_out) if x >= high_out else f32(low_out - x) for x in vector]
    high = [x >= high_in for x in vector]
    y = [f32(x - high_in) if up else f32(x - low_in) for x, up in zip(vector, high)]

    def members(name, numbers):
        return [number for number, b in zip(numbers, band) if b == name]

    outer, inner = affine(members("o", a), 15), affine(members("i", vector), 31)
    middle, sides = members("m", y), members("m", high)
    parameters = {"outerMinimum": outer[0], "outerStep": outer[1], "innerMinimum": inner[0], "innerStep": inner[1]}
    if kind == "midRise":
        parameters["middleMaximum"] = store_scale(max([abs(number) for number in middle], default=0.0))
        largest = f16_value(parameters["middleMaximum"])
    else:
        minimum, step = 0, 0
        if middle:
            forced = middle + ([-(2.0**-14)] if not all(sides) else [])
            minimum, step = affine(forced, 15)
            if any(sides) and f16_value(minimum) + 15 * f16_value(step) < 0:
                step += 1
        parameters |= {"middleMinimum": minimum, "middleStep": step}
        m, s = f16_value(minimum), f16_value(step)
        below = sum(m + code * s < 0 for code in range(16))
    nibbles, outliers = [], {}
    for i, x in enumerate(vector):
        if band[i] == "o":
            nibbles.append(nearest(f32(a[i] - f16_value(outer[0])), f16_value(outer[1]), 0, 15))
            outliers[i] = (1, 0 if x >= high_out else 1)
        elif band[i] == "i":
            code = nearest(f32(x - f16_value(inner[0])), f16_value(inner[1]), 0, 31)
            nibbles.append(code & 15)
            outliers[i] = (0, code >> 4)
        elif kind == "midRise":
            cell = 0 if largest == 0 else sum(8 * abs(y[i]) >= k * largest for k in range(1, 8))
            nibbles.append((0 if high[i] else 8) | cell)
        else:
            code = nearest(f32(y[i] - m), s, 0, 15)
            nibbles.append(max(code, below) if high[i] else min(code, max(below - 1, 0)))
    return nibbles, outliers, parameters


class Writer:
    def __init__(self, layout):
        self.layout = layout
        self.data = bytearray(layout.page_bytes)

    def code(self, head, row, index, code):
        layout = self.layout
        for i in range(layout.bits):
            bit = layout.bits * index + i
            byte = head * layout.head_bytes + row * layout.row_bytes + bit // 8
            self.data[byte] |= (code >> i & 1) << (bit % 8)

    def number(self, offset, size, value):
        self.data[offset : offset + size] = value.to_bytes(size, "little")

    def parameter(self, head, name, entry, bits):
        layout = self.layout
        base = layout.heads * layout.head_bytes if layout.shared else head * layout.head_bytes
        size = TYPE_BYTES[layout.types[name]]
        self.number(base + layout.planes[name] + size * entry, size, bits)

    def top_outlier(self, head, entry, channel, value):
        layout = self.layout
        base = head * layout.head_bytes
        self.number(base + layout.top_values + 2 * entry, 2, store_offset(value))
        self.number(base + layout.top_channels + layout.channel_bytes * entry, layout.channel_bytes, channel)


def quantize(group, tensor):
    quantizer, bits = tensor["quantizer"], tensor["bits"]
    types = tensor["parameters"].get("scale"), tensor["parameters"].get("zero")
    if isinstance(quantizer["codes"], dict):
        return levels(group, quantizer, types)
    if quantizer["mode"] == "asymmetric":
        codes, scale, zero = asymmetric(group, bits, types)
    elif quantizer["mode"] == "hybrid":
        codes, scale, zero = hybrid(group, bits, quantizer, types)
    else:
        (codes, scale), zero = symmetric(group, bits, quantizer["codes"], types[0]), None
    return codes, {"scale": scale} | ({} if zero is None else {"zero": zero})


def take_outliers(writer, tokens, valid):
    """Writes the top outliers and leaves None in their place."""
    layout = writer.layout
    for slot, token in enumerate(tokens):
        for head, row in enumerate(token):
            rank = sorted(range(len(row)), key=lambda channel: (-abs(row[channel]), channel))
            for i, channel in enumerate(sorted(rank[: layout.top])):
                if slot < valid:
                    writer.top_outlier(head, slot * layout.top + i, channel, row[channel])
                row[channel] = None


def encode_groups(writer, tokens, valid, tensor):
    layout = writer.layout
    size, dim = layout.size, layout.head_dim
    take_outliers(writer, tokens, valid)
    for head in range(layout.heads):
        if layout.along == "tokens":
            for first in range(0, len(tokens), size):
                for channel in range(dim):
                    codes, parameters = quantize([t[head][channel] for t in tokens[first : first + size]], tensor)
                    for i, code in enumerate(codes):
                        if first + i < valid:
                            writer.code(head, channel, first + i, code)
                    if first < valid:
                        for name, bits in parameters.items():
                            writer.parameter(head, name, first // size * dim + channel, bits)
        else:
            for slot, token in enumerate(tokens[:valid]):
                for first in range(0, dim, size):
                    codes, parameters = quantize(token[head][first : first + size], tensor)
                    for i, code in enumerate(codes):
                        writer.code(head, slot, first + i, code)
                    for name, bits in parameters.items():
                        writer.parameter(head, name, slot * (dim // size) + first // size, bits)


def encode_bands(writer, tokens, tensor, edges):
    layout = writer.layout
    dim = layout.head_dim
    counts = [0] * layout.heads
    for slot, token in enumerate(tokens):
        vectors = [sum(token, [])] if layout.shared else token
        for number, vector in enumerate(vectors):
            nibbles, outliers, parameters = bands(vector, edges, "midRise" if "middleMaximum" in layout.planes else "uniform")
            for name, bits in parameters.items():
                writer.parameter(number, name, slot, bits)
            for part in range(len(vector) // dim):
                head = number + part
                base = head * layout.head_bytes
                for channel in range(dim):
                    writer.code(head, slot, channel, nibbles[part * dim + channel])
                for chunk in range(layout.chunks):
                    for channel in range(64 * chunk, min(64 * chunk + 64, dim)):
                        if part * dim + channel in outliers:
                            outer, fifth = outliers[part * dim + channel]
                            byte = channel % 64 | outer << 6 | fifth << 7
                            writer.number(base + layout.outliers + counts[head], 1, byte)
                            counts[head] += 1
                    index = slot * layout.chunks + chunk
                    offset = base + layout.end_offsets + index * layout.offset_bytes
                    writer.number(offset, layout.offset_bytes, counts[head])


def check_page(golden):
    layout = Layout(golden["tensor"], golden["heads"], golden["headDim"], golden["blockTokens"])
    tokens = lcg_normal(golden["recipe"], golden["packedTokens"], golden["heads"], golden["headDim"])
    writer = Writer(layout)
    if layout.bands:
        encode_bands(writer, tokens[: golden["validTokens"]], golden["tensor"], golden["thresholds"])
    else:
        encode_groups(writer, tokens, golden["validTokens"], golden["tensor"])
    recorded = read_checked(golden["page"])
    different = sum(a != b for a, b in zip(writer.data, recorded))
    print(f"{golden['name']:34} {len(recorded):5} bytes, {different} differ")
    return different == 0


def main():
    golden = json.loads(Path(FOLDER / "golden.json").read_text())
    results = [check_page(page) for page in golden["pages"]]
    print(f"{sum(results)} of {len(results)} pages are encoded byte for byte")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
