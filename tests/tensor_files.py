"""What the tests of the command line share: tensors in files, and the formula to compare with.

Python's standard library only. Everything here is written anew, from the descriptions of the
formats and from section 3 of the design; it shares nothing with src/.
"""

import json
import math
import random
import struct
from fractions import Fraction

# Names in .npy and .safetensors, bytes, bits of a significand, exponent of the smallest subnormal.
DTYPES = {
    "f32": ("<f4", "F32", 4, 24, -149),
    "f16": ("<f2", "F16", 2, 11, -24),
    "bf16": (None, "BF16", 2, 8, -133),
    "f64": ("<f8", "F64", 8, 53, -1074),
}
CODES = {"f32": "f", "f16": "e", "f64": "d"}


def encode(dtype, values):
    if dtype != "bf16":
        return struct.pack(f"<{len(values)}{CODES[dtype]}", *values)
    halves = [struct.unpack("<I", struct.pack("<f", value))[0] >> 16 for value in values]
    return struct.pack(f"<{len(halves)}H", *halves)


def decode(dtype, data):
    count = len(data) // DTYPES[dtype][2]
    if dtype != "bf16":
        return list(struct.unpack(f"<{count}{CODES[dtype]}", data))
    halves = struct.unpack(f"<{count}H", data)
    return list(struct.unpack(f"<{count}f", b"".join(struct.pack("<I", h << 16) for h in halves)))


def random_data(dtype, shape, seed=1):
    generator = random.Random(repr((dtype, shape, seed)))
    return encode(dtype, [generator.uniform(-2, 2) for _ in range(math.prod(shape))])


def safetensors_header(entries, metadata=None, padding=0):
    """entries: name -> (dtype, shape, begin, end)."""
    header = {} if metadata is None else {"__metadata__": metadata}
    for name, (dtype, shape, begin, end) in entries.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}
    return raw_safetensors(json.dumps(header) + " " * padding)


def raw_safetensors(text):
    text = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(text)) + text


def safetensors(tensors, **options):
    """The bytes of a file. tensors: name -> (dtype as in the file, shape, data)."""
    entries, data = {}, b""
    for name, (dtype, shape, contents) in tensors.items():
        entries[name] = (dtype, shape, len(data), len(data) + len(contents))
        data += contents
    return safetensors_header(entries, **options) + data


def safetensors_data(contents):
    """name -> data."""
    (length,) = struct.unpack("<Q", contents[:8])
    data = contents[8 + length:]
    return {name: data[slice(*entry["data_offsets"])]
            for name, entry in json.loads(contents[8:8 + length]).items() if name != "__metadata__"}


class Formula:
    """Rotates one head at a time, exactly but for cos and sin, which are good to 2^-53."""

    def __init__(self, head_dim, rotary_dim=None, rotary_offset=0, pairing="halves",
                 output_pairing=None, clockwise=False, window_parts=1, base=10000.0,
                 frequencies=None, attention_factor=1.0, axis_of_pair=None):
        self.rotary_dim = rotary_dim or head_dim - rotary_offset
        self.offset = rotary_offset
        self.pairings = (pairing, output_pairing or pairing)
        self.sign = -1 if clockwise else 1
        self.width = self.rotary_dim // window_parts
        self.frequencies = frequencies or window_parts * [
            base ** (-2 * i / self.width) for i in range(self.width // 2)]
        self.m = Fraction(attention_factor)
        self.axes = axis_of_pair or [0] * (self.rotary_dim // 2)

    def pair(self, i, pairing):
        part, j = divmod(i, self.width // 2)
        first = self.offset + part * self.width
        if pairing == "halves":
            return first + j, first + j + self.width // 2
        return first + 2 * j, first + 2 * j + 1

    def apply(self, operation, head, position):
        """Of each element, what it must be and the hypot of its pair times the factor, or None."""
        position = position if isinstance(position, (list, tuple)) else [position] * 16
        read, write = self.pairings if operation == "rotate" else reversed(self.pairings)
        sign = self.sign if operation == "rotate" else -self.sign
        factor = 1 / self.m if operation == "unrotate" else self.m
        result = [(Fraction(x) if math.isfinite(x) else x, None) for x in head]
        for i, frequency in enumerate(self.frequencies):
            a, b = (Fraction(head[element]) for element in self.pair(i, read))
            angle = sign * float(Fraction(position[self.axes[i]]) * Fraction(frequency))
            cos, sin = factor * Fraction(math.cos(angle)), factor * Fraction(math.sin(angle))
            length = float(factor) * math.hypot(a, b)
            for element, value in zip(self.pair(i, write), (a * cos - b * sin, a * sin + b * cos)):
                result[element] = value, length
        return result


def half_ulp(dtype, value):
    _, _, _, digits, smallest = DTYPES[dtype]
    return math.ldexp(0.5, max(math.frexp(value)[1] - digits, smallest))


def bound(dtype, exact, got, length):
    """The promise of the design, and what cos and sin of the formula may be off by."""
    relative = 2.0 ** -50 + 2.0 ** -53 if dtype == "f64" else 2.0 ** -21
    return relative * length + half_ulp(dtype, max(abs(float(exact)), abs(got)))
