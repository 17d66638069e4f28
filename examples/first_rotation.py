import numpy as np

import ropewalk

# The plan, made once per model: any position, no table.
rope = ropewalk.Rope(ropewalk.Spec(head_dim=128, base=500000.0))

# One sequence of 5 tokens, 32 heads of queries, 8 of keys: [batch, tokens, heads, head_dim].
q = np.ones((1, 5, 32, 128), np.float32)
k = np.ones((1, 5, 8, 128), np.float32)

# In place. The tokens stand at positions 1000000, 1000001, ... 1000004.
ropewalk.rotate_(rope, q, 1_000_000, k=k)

# The first pair turns by 1 radian per position: cos(1000000) - sin(1000000).
print(f"q[0] = {q[0, 0, 0, 0]:.5f}")
