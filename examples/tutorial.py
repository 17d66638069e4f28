"""docs/tutorial.md, in one piece: python examples/tutorial.py (with torch and transformers)."""

# [vectors]
import numpy as np

import ropewalk

rope = ropewalk.Rope(ropewalk.Spec(head_dim=8, base=100.0))

random = np.random.default_rng(0)
q, k = random.standard_normal((2, 1, 1, 1, 8))  # [batch, tokens, heads, head_dim], of one token and one head each


def score(p, s):
    """q at position p, k at position s."""
    return float(np.vdot(ropewalk.rotate(rope, q, p), ropewalk.rotate(rope, k, s)))


print(f"{score(3, 1):.6f} {score(103, 101):.6f} {score(1_000_003, 1_000_001):.6f}")
print(f"{score(3, 2):.6f}")
# [/vectors]

# [frequencies]
print(rope.frequencies.round(4))
print((2 * np.pi / rope.frequencies).round(1))
# [/frequencies]

# [tensors]
rope = ropewalk.Rope(ropewalk.Spec(head_dim=64))
q = random.standard_normal((2, 5, 8, 64)).astype(np.float32)  # two sequences of five tokens, eight heads
k = random.standard_normal((2, 5, 2, 64)).astype(np.float32)  # two heads of keys

new_q, new_k = ropewalk.rotate(rope, q, 0, k=k)  # token t of each sequence stands at 0 + t
ropewalk.rotate_(rope, q, 0, k=k)  # the same in place
print(new_q.shape, new_k.dtype, np.array_equal(q, new_q))
# [/tensors]

# [positions]
x = random.standard_normal((2, 5, 8, 64)).astype(np.float32)
padded = [[0, 0, 0, 1, 2], [0, 1, 2, 3, 4]]  # the first sequence begins two tokens later
y = ropewalk.rotate(rope, x, padded)
print(np.array_equal(y[0, 2:], ropewalk.rotate(rope, x[:1, 2:], 0)[0]))
packed = ropewalk.Positions.packed([0, 3, 5])  # three tokens, then two of another sequence
print(np.array_equal(ropewalk.rotate(rope, x, packed), ropewalk.rotate(rope, x, [0, 1, 2, 0, 1])))
# [/positions]

# [model]
model = ropewalk.Model.from_preset("llama-3.1-8b")  # or Model.from_file("config.json"), or a .gguf
spec = model.layer(0).spec
print(spec.head_dim, spec.base, spec.scaling["type"], model.trained_length)
rope = ropewalk.Rope(spec)
print(f"{2 * np.pi / rope.frequencies[-1]:,.0f}")  # the longest wavelength, in positions
# [/model]

# [angles]
angles = ropewalk.Angles(rope, ropewalk.Positions.start(1000, 1))  # once per step: one token at 1000
layers = [random.standard_normal((1, 1, 32, 128)).astype(np.float32) for _ in range(3)]
for q in layers:
    ropewalk.rotate_(angles, q)
print(angles.cos.shape)
# [/angles]

# [torch]
import torch  # noqa: E402

import ropewalk.torch  # noqa: E402

q = torch.randn(1, 4, 2, 128, requires_grad=True)
k = torch.randn(1, 4, 2, 128)
turned_q, turned_k = ropewalk.torch.rotate(q, k, torch.arange(4), rope)
turned_q.square().sum().backward()  # a rotation keeps lengths: the gradient is 2 q
print(torch.allclose(q.grad, 2 * q, atol=1e-5))
# [/torch]

# [patch]
import transformers  # noqa: E402

import ropewalk.hf  # noqa: E402

config = transformers.LlamaConfig(vocab_size=100, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                                  num_attention_heads=4)
torch.manual_seed(0)
llama = transformers.LlamaForCausalLM(config).eval()
ids = torch.arange(10)[None]
with torch.no_grad():
    before = llama(ids).logits
    after = ropewalk.hf.patch(llama)(ids).logits
print(bool((after - before).abs().max() < 1e-4), len(ropewalk.hf.families()))
# [/patch]
