#!/usr/bin/env python3
"""The polynomials of the angle kernel (src/kernels-angles-inl.hpp), by Remez exchange in 60 digits.

With x in quarter turns, |x| <= 1/2, and z = x^2:

    sin(x pi/2) = x (S0 + z (S1 + z (S2 + ...)))
    cos(x pi/2) = 1 + z (C1 + z (C2 + ...))         exact at 0

Prints the coefficients, for rows of float and of double (S0 as a sum of two), and the largest
absolute error of each polynomial. Needs mpmath.
"""

import struct

from mpmath import cos, lu_solve, matrix, mp, mpf, pi, sin, sqrt

mp.dps = 60


def as_float(value):
    return struct.unpack("f", struct.pack("f", float(value)))[0]


def remez(target, weight, count, low, high, rounds=12):
    """a[0..count) so that weight (sum a_j z^j - target) equioscillates, and the largest error."""
    points = [(low + high) / 2 - (high - low) / 2 * cos(pi * (2 * k + 1) / (2 * count + 2))
              for k in range(count + 1)]
    grid = [low + (high - low) * (1 - cos(pi * k / 2000)) / 2 for k in range(2001)]
    for _ in range(rounds):
        rows, right = matrix(count + 1, count + 1), matrix(count + 1, 1)
        for k, z in enumerate(points):
            for j in range(count):
                rows[k, j] = z**j
            rows[k, count] = mpf(-1) ** k / weight(z)
            right[k] = target(z)
        solution = lu_solve(rows, right)
        values = [weight(z) * (sum(solution[j] * z**j for j in range(count)) - target(z))
                  for z in grid]
        picked = []  # the largest of each run of one sign
        for k, value in enumerate(values):
            if picked and (values[picked[-1]] > 0) == (value > 0):
                if abs(value) > abs(values[picked[-1]]):
                    picked[-1] = k
            else:
                picked.append(k)
        while len(picked) > count + 1:
            picked.pop(0 if abs(values[picked[0]]) < abs(values[picked[-1]]) else -1)
        points = [grid[k] for k in picked]
    return list(solution[:count]), max(abs(value) for value in values)


def main():
    low, high = mpf(10) ** -12, mpf(1) / 4
    for name, rounded, terms in (("float", as_float, 4), ("double", float, 8)):
        sine, sine_error = remez(lambda z: sin(sqrt(z) * pi / 2) / sqrt(z), sqrt, terms, low, high)
        cosine, cosine_error = remez(lambda z: (cos(sqrt(z) * pi / 2) - 1) / z, lambda z: z, terms,
                                     low, high)
        s0 = rounded(sine[0])
        print(f"{name}: errors {float(sine_error):.2g} (sin), {float(cosine_error):.2g} (cos)")
        print("  S0", s0.hex(), "+", rounded(sine[0] - mpf(s0)).hex())
        for j, value in enumerate(sine[1:], 1):
            print(f"  S{j}", rounded(value).hex())
        for j, value in enumerate(cosine, 1):
            print(f"  C{j}", rounded(value).hex())


if __name__ == "__main__":
    main()
