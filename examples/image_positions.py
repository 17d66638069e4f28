# Positions of images: a vision tower, and a prompt with an image in it.

import numpy as np

import ropewalk

# [tower]
# Qwen2.5-VL's tower: heads of 80, patches in blocks of 2 x 2, two images in one row of tokens.
tower = ropewalk.Rope(ropewalk.vision_spec("qwen_vision", head_dim=80))
images = [ropewalk.Grid(4, 6, merge=2), ropewalk.Grid(2, 2, merge=2)]
patches = ropewalk.image_positions(images)  # [2, 1, 28]: row, column
q = np.ones((1, 28, 16, 80), np.float32)
ropewalk.rotate_(tower, q, patches)
# [/tower]

# [prompt]
# The language model: pairs turn with t, h or w, and the prompt says where its tokens stand.
axes = {"sections": [16, 24, 24], "order": "blocks"}
rope = ropewalk.Rope(ropewalk.Spec(head_dim=128, base=1e6, axes=axes))
run = ropewalk.Run
prompt = ropewalk.token_positions([[run.text(3), run.image(4, 6), run.text(2)]],
                                  ropewalk.sequence_rules("qwen2_5_vl"))
angles = ropewalk.Angles(rope, prompt.ids)  # [3, 1, 11]: the prompt, once for all layers
angles.assign(rope, ropewalk.Positions.starts(prompt.next, 1))  # then the first generated token
# [/prompt]

for axis, row in zip("thw", prompt.ids[:, 0]):
    print(f"{axis}: {' '.join(map(str, row))}, then {prompt.next[0]}")
