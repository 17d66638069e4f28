#!/usr/bin/env python3
"""The polynomials of the angle kernel (src/kernels-inl.hpp), by Remez exchange in 60 digits.

With x in quarter turns, |x| <= 1/2, and z = x^2:

    sin(x pi/2) = x (S0 + z (S1 + z (S2 + z S3)))      relative error minimised
    cos(x pi/2) = 1 + z (C1 + z (C2 + z (C3 + z C4)))  absolute error minimised, exact at 0

Prints the coefficients as float32 (S0 as a sum of two) and the largest error of the polynomials.
Needs mpmath.
"""

import struct

from mpmath import chebyt, cos, inf, matrix, lu_solve, mp, mpf, pi, sin, sqrt  # noqa: F401

mp.dps = 60


def as_float32(value):
    return struct.unpack("f", struct.pack("f", float(value)))[0]


def remez(target, weight, basis, low, high, steps=12):
    """Coefficients a of sum a_j basis_j(z) so that weight (sum - target) equioscillates."""
    count = len(basis)
    points = [(low + high) / 2 - (high - low) / 2 * cos(pi * (2 * k + 1) / (2 * count + 2))
              for k in range(count + 1)]
    for _ in range(steps):
        rows = matrix(count + 1, count + 1)
        right = matrix(count + 1, 1)
        for k, z in enumerate(points):
            for j in range(count):
                rows[k, j] = basis[j](z)
            rows[k, count] = mpf(-1) ** k / weight(z)
            right[k] = target(z)
        solution = lu_solve(rows, right)
        coefficients = list(solution[:count])

        def error(z, a=coefficients):
            return weight(z) * (sum(c * f(z) for c, f in zip(a, basis)) - target(z))

        grid = [low + (high - low) * k / mpf(4000) for k in range(4001)]
        values = [error(z) for z in grid]
        turns = [k for k in range(4001)
                 if (k in (0, 4000) or abs(values[k]) >= max(abs(values[k - 1]), abs(values[k + 1])))]
        picked = []
        for k in turns:  # the largest of each run of one sign
            if picked and (values[picked[-1]] > 0) == (values[k] > 0):
                if abs(values[k]) > abs(values[picked[-1]]):
                    picked[-1] = k
            else:
                picked.append(k)
        while len(picked) > count + 1:
            picked.pop(0 if abs(values[picked[0]]) < abs(values[picked[-1]]) else -1)
        points = [grid[k] for k in picked]
    return coefficients, max(abs(v) for v in values)


def main():
    tiny = mpf(10) ** -12
    sine, sine_error = remez(
        lambda z: sin(sqrt(z) * pi / 2) / sqrt(z), lambda z: sqrt(z),
        [lambda z: mpf(1), lambda z: z, lambda z: z**2, lambda z: z**3], tiny, mpf(1) / 4)
    cosine, cosine_error = remez(
        lambda z: (cos(sqrt(z) * pi / 2) - 1) / z, lambda z: z,
        [lambda z: mpf(1), lambda z: z, lambda z: z**2, lambda z: z**3], tiny, mpf(1) / 4)
    high = as_float32(sine[0])
    print(f"kSin0High = {high.hex()}")
    print(f"kSin0Low = {as_float32(sine[0] - mpf(high)).hex()}")
    for j, value in enumerate(sine[1:], 1):
        print(f"kSin{j} = {as_float32(value).hex()}")
    for j, value in enumerate(cosine, 1):
        print(f"kCos{j} = {as_float32(value).hex()}")
    print(f"largest error: sine {float(sine_error):.2g}, cosine {float(cosine_error):.2g}")


if __name__ == "__main__":
    main()
