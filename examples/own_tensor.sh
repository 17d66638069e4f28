#!/usr/bin/env bash
# Rotates a tensor of your own: q.npy, of shape [batch, tokens, heads, head_dim], whose first token
# stands at position 4096.
set -euo pipefail

# [rotate]
build/release/ropewalk rotate --head-dim 128 --base 500000 --pairing halves \
  --layout bthd --start 4096 --in q.npy --out q_rotated.npy
# [/rotate]
