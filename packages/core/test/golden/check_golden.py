#!/usr/bin/env python3
"""Decodes every golden page from docs/block-format.md alone and compares with the recorded values.

Plain Python, no packages, nothing of the TypeScript sources. Prints one line per page; exit status 1 on any difference.
"""

import hashlib
import json
import math
import struct
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
TYPE_BYTES = {"f16": 2, "f32": 4, "e4m3": 1, "e8m0": 1}


def f32(value):
    """Rounds a Python float to f32, to nearest even."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


def align16(count):
    return 16 * math.ceil(count / 16)


class Layout:
    """Sections 2 to 6."""

    def __init__(self, tensor, heads, head_dim, block_tokens):
        self.tensor, self.heads, self.head_dim, self.block_tokens = tensor, heads, head_dim, block_tokens
        self.bits = tensor["bits"]
        groups, quantizer = tensor["groups"], tensor["quantizer"]
        self.along = groups["along"]
        outliers = tensor.get("outliers", {})
        self.bands = outliers.get("kind") == "bands"
        self.top = outliers["count"] if outliers.get("kind") == "top" else 0
        self.shared = self.along == "vector" and groups["scope"] == "allHeads"
        self.size = {"tokens": groups.get("size"), "channels": groups.get("size"), "vector": head_dim}[self.along]

        by_channel = self.along == "tokens"
        self.rows = head_dim if by_channel else block_tokens
        self.row_codes = block_tokens if by_channel else head_dim
        self.row_bytes = 4 * math.ceil(self.row_codes * self.bits / 32)

        if self.bands:
            middle = ["middleMaximum"] if quantizer["codes"] == "midRise" else ["middleMinimum", "middleStep"]
            names = middle + ["outerMinimum", "outerStep", "innerMinimum", "innerStep"]
        else:
            names = [name for name in ("scale", "zero") if name in tensor["parameters"]]
        if self.along == "tokens":
            self.entries = block_tokens // self.size * head_dim
        elif self.along == "channels":
            self.entries = block_tokens * head_dim // self.size
        else:
            self.entries = block_tokens

        end = align16(self.rows * self.row_bytes)
        shared_end = 0
        self.planes, self.types = {}, {}
        for name in names:
            kind = tensor["parameters"]["zero" if name == "zero" else "scale"]
            self.planes[name], self.types[name] = shared_end if self.shared else end, kind
            taken = align16(self.entries * TYPE_BYTES[kind])
            if self.shared:
                shared_end += taken
            else:
                end += taken
        if self.bands:
            reserve = tensor["outliers"]["storage"]["reserve"]
            self.chunks = math.ceil(head_dim / 64)
            room = sum(min(reserve, min(64, head_dim - 64 * c)) for c in range(self.chunks))
            self.capacity = block_tokens * room
            self.offset_bytes = 2 if self.capacity <= 65535 else 4
            self.end_offsets = end
            self.outliers = align16(end + block_tokens * self.chunks * self.offset_bytes)
            end = self.outliers + align16(self.capacity)
        if self.top:
            self.channel_bytes = 1 if head_dim <= 256 else 2
            self.top_values = end
            self.top_channels = align16(end + block_tokens * self.top * 2)
            end = align16(self.top_channels + block_tokens * self.top * self.channel_bytes)
        self.head_bytes, self.shared_bytes = end, shared_end
        self.page_bytes = heads * end + shared_end


class Page:
    """A page and which of its bits have been read: whatever is never read must be zero (section 7)."""

    def __init__(self, layout, data):
        self.layout, self.data = layout, data
        self.read = bytearray(len(data))

    def number(self, offset, size):
        self.read[offset : offset + size] = b"\xff" * size
        return int.from_bytes(self.data[offset : offset + size], "little")

    def code(self, head, row, index):
        layout = self.layout
        value = 0
        for i in range(layout.bits):
            bit = layout.bits * index + i
            byte = head * layout.head_bytes + row * layout.row_bytes + bit // 8
            self.read[byte] |= 1 << (bit % 8)
            value |= (self.data[byte] >> (bit % 8) & 1) << i
        return value

    def parameter(self, head, name, entry):
        """The bits and their value."""
        layout = self.layout
        base = layout.heads * layout.head_bytes if layout.shared else head * layout.head_bytes
        kind = layout.types[name]
        size = TYPE_BYTES[kind]
        bits = self.number(base + layout.planes[name] + size * entry, size)
        return bits, parameter_value(kind, bits)

    def top_outliers(self, head, slot):
        """Value by channel."""
        layout = self.layout
        base, first = head * layout.head_bytes, slot * layout.top
        result = {}
        for entry in range(first, first + layout.top):
            value = self.number(base + layout.top_values + 2 * entry, 2)
            channel = self.number(base + layout.top_channels + layout.channel_bytes * entry, layout.channel_bytes)
            assert channel > max(result, default=-1)
            result[channel] = parameter_value("f16", value)
        return result

    def end_offset(self, head, index):
        layout = self.layout
        return self.number(head * layout.head_bytes + layout.end_offsets + index * layout.offset_bytes, layout.offset_bytes)

    def unread_bits_set(self):
        return sum(bin(value & ~mask & 255).count("1") for value, mask in zip(self.data, self.read))


def parameter_value(kind, bits):
    """Section 4."""
    if kind == "e8m0":
        return 2.0 ** (bits - 127) if bits else 0.0
    if kind == "e4m3":
        field, mantissa = bits >> 3, bits & 7
        return mantissa * 2.0**-9 if field == 0 else (8 + mantissa) * 2.0 ** (field - 10)
    return struct.unpack("<e" if kind == "f16" else "<f", bits.to_bytes(TYPE_BYTES[kind], "little"))[0]


def signed(code, bits):
    return code - (1 << bits) if code >> (bits - 1) else code


def decode_group_element(page, head, slot, channel):
    layout = page.layout
    quantizer, bits = layout.tensor["quantizer"], layout.bits
    if layout.along == "tokens":
        code = page.code(head, channel, slot)
        entry = slot // layout.size * layout.head_dim + channel
    else:
        code = page.code(head, slot, channel)
        entry = slot * (layout.head_dim // layout.size) + channel // layout.size
    table = quantizer["codes"]["levels"] if isinstance(quantizer["codes"], dict) else None
    if "scale" not in layout.planes:
        return f32(table[code])
    scale_bits, scale = page.parameter(head, "scale", entry)
    if quantizer["mode"] == "symmetric":
        return f32((f32(table[code]) if table else signed(code, bits)) * scale)
    zero = page.parameter(head, "zero", entry)[1]
    if quantizer["mode"] == "asymmetric":
        return f32(f32((f32(table[code]) if table else code) * scale) + zero)
    if scale_bits & (0x80000000 if layout.types["scale"] == "f32" else 0x8000):
        return f32(f32(code * abs(scale)) + zero)
    assert zero == 0
    return f32(signed(code, bits) * scale)


def decode_bands_vector(page, head, slot, edges):
    layout = page.layout
    outliers = {}
    for chunk in range(layout.chunks):
        index = slot * layout.chunks + chunk
        first = 0 if index == 0 else page.end_offset(head, index - 1)
        previous = -1
        for entry in range(first, page.end_offset(head, index)):
            byte = page.number(head * layout.head_bytes + layout.outliers + entry, 1)
            assert byte & 63 > previous, "outliers of a chunk are in the order of channels"
            previous = byte & 63
            outliers[64 * chunk + (byte & 63)] = (byte >> 6 & 1, byte >> 7)
    values = []
    parameter = {name: page.parameter(head, name, slot)[1] for name in layout.planes}
    for channel in range(layout.head_dim):
        nibble = page.code(head, slot, channel)
        if channel in outliers:
            outer, fifth = outliers[channel]
            if outer:
                a = f32(nibble * parameter["outerStep"] + parameter["outerMinimum"])
                values.append(f32(edges["outerLow"] - a if fifth else edges["outerHigh"] + a))
            else:
                values.append(f32((nibble + 16 * fifth) * parameter["innerStep"] + parameter["innerMinimum"]))
        elif "middleMaximum" in parameter:
            a = (2 * (nibble & 7) + 1) * (parameter["middleMaximum"] / 16)
            values.append(f32(edges["innerLow"] - a if nibble & 8 else edges["innerHigh"] + a))
        else:
            y = f32(nibble * parameter["middleStep"] + parameter["middleMinimum"])
            values.append(f32(edges["innerLow"] + y if y < 0 else edges["innerHigh"] + y))
    return values


def read_checked(entry):
    data = (FOLDER / entry["file"]).read_bytes()
    assert len(data) == entry["bytes"] and hashlib.sha256(data).hexdigest() == entry["sha256"], entry["file"]
    return data


def check_page(golden):
    heads, head_dim, valid = golden["heads"], golden["headDim"], golden["validTokens"]
    layout = Layout(golden["tensor"], heads, head_dim, golden["blockTokens"])
    page = Page(layout, read_checked(golden["page"]))
    assert len(page.data) == layout.page_bytes, (golden["name"], len(page.data), layout.page_bytes)
    decoded = []
    for slot in range(valid):
        for head in range(heads):
            if layout.bands:
                decoded += decode_bands_vector(page, head, slot, golden["thresholds"])
            else:
                values = [decode_group_element(page, head, slot, channel) for channel in range(head_dim)]
                for channel, value in page.top_outliers(head, slot).items() if layout.top else ():
                    values[channel] = value
                decoded += values
    recorded = read_checked(golden["decoded"])
    recorded = struct.unpack(f"<{len(recorded) // 4}f", recorded)
    assert len(recorded) == len(decoded), (len(recorded), len(decoded))
    different = sum(a != b for a, b in zip(decoded, recorded))
    stray = page.unread_bits_set()
    print(f"{golden['name']:34} {len(decoded):5} values, {different} differ, {stray} stray bits")
    return different == 0 and stray == 0 and len(set(recorded)) > 1 - (golden["recipe"].get("std") == 0)


def check_snapshot(snapshot):
    """Section 13, as far as it needs no plan."""
    data = read_checked(snapshot["container"])
    assert data[:4] == b"LBKV" and struct.unpack("<I", data[4:8]) == (1,)
    (length,) = struct.unpack("<I", data[8:12])
    header = json.loads(data[12 : 12 + length])
    assert hashlib.sha256(data[:-32]).digest() == data[-32:]
    assert header["fingerprint"] == snapshot["fingerprint"]
    assert [sequence["length"] for sequence in header["sequences"]] == snapshot["lengths"]
    for sequence in header["sequences"]:
        for counts, state in zip(header["pages"], sequence["states"], strict=True):
            position = 0
            for run in state["entries"]:
                assert run["position"] == position
                if run["kind"] == "packed":
                    assert run["slot"] == 0 and run["count"] <= counts["packed"][run["page"]]
                else:
                    assert run["page"] < counts["window"] and run["slot"] + run["count"] <= 32
                position += run["count"]
            assert position == sequence["length"] and state["statistics"] < counts["statistics"]
    print(f"{'snapshot':34} {len(header['sequences'])} sequences, {len(data)} bytes, checksum and header hold")


def main():
    golden = json.loads((FOLDER / "golden.json").read_text())
    results = [check_page(page) for page in golden["pages"]]
    check_snapshot(golden["snapshot"])
    print(f"{sum(results)} of {len(results)} pages decode to the recorded values")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
