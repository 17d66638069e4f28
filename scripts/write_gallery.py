#!/usr/bin/env python3
"""Writes docs/gallery.md and its pictures, or checks them: write_gallery.py [--check] [ROOT]

Each picture, docs/gallery/*.svg, is made by the command that the page shows, run from the root of the tree;
it wants the Python package with matplotlib (pip install .[plot]). With --check nothing is written or drawn:
`file: message` where the page is not what would be written, a picture is missing, too large, says a date, or
belongs to no command; and exit code 1 then.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

COMMANDS = r"""
# [frequencies]
python -m ropewalk.plot frequencies --preset llama-3.1-8b --unscaled -o docs/gallery/frequencies.svg
# [/frequencies]
# [wavelengths]
python -m ropewalk.plot wavelengths --preset llama-3.1-8b --preset deepseek-v3 --unscaled \
  -o docs/gallery/wavelengths.svg
# [/wavelengths]
# [rules]
python -m ropewalk.plot wavelengths -o docs/gallery/rules.svg \
  --spec '{"head_dim": 128}' \
  --spec '{"head_dim": 128, "scaling": {"type": "linear", "factor": 8}}' \
  --spec '{"head_dim": 128, "scaling": {"type": "ntk", "alpha": 8}}' \
  --spec '{"head_dim": 128, "scaling":
           {"type": "yarn", "factor": 8, "original_max_position_embeddings": 4096}}'
# [/rules]
# [scores]
python -m ropewalk.plot scores --preset llama-2-7b --distances 0:256 -o docs/gallery/scores.svg
# [/scores]
# [scores-far]
python -m ropewalk.plot scores --preset llama-3.1-8b --unscaled --distances 1:131072:120 \
  -o docs/gallery/scores-far.svg
# [/scores-far]
# [rotation]
python -m ropewalk.plot rotation --preset llama-2-7b --positions 0:32 -o docs/gallery/rotation.svg
# [/rotation]
# [heatmap]
python -m ropewalk.plot heatmap --preset llama-2-7b -o docs/gallery/heatmap.svg
# [/heatmap]
# [errors]
python -m ropewalk.plot errors --preset llama-3.1-8b --positions 1:1000000000:120 -o docs/gallery/errors.svg
# [/errors]
"""

# Name, title, what there is to see.
PICTURES = [
    ("frequencies", "Frequencies", """
How far each pair turns per position, on a logarithmic axis: without scaling, a straight line. The rule of
Llama 3.1 leaves the fast pairs alone, slows the slow ones eight times, and joins the two. Pairs below the
dashed line make no whole turn in the trained context."""),
    ("wavelengths", "Wavelengths against the trained context", """
The same as positions per turn, for two models. A pair above the line of a context makes no whole turn in
it, so a longer text shows it angles that it has not seen. Scaling stretches the long wavelengths and leaves
the short ones."""),
    ("rules", "Scaling rules", """
Three ways to stretch the same frequencies eight times. `linear` slows every pair alike, also the fast ones,
which tell neighbours apart. `ntk` slows a pair the more the slower it is, the last one eight times. `yarn`
leaves the fast pairs, slows the slow ones eight times, and goes over from one to the other in between."""),
    ("scores", "Scores of near tokens", """
The score of a query and a key that is equal to it falls with their distance, and it wavers, since it is a
sum of cosines. Random vectors have, in the mean, the score of vectors of ones. Of a query and a key that
are independent it is 0 in the mean, at any distance."""),
    ("scores-far", "Scores of far tokens, with and without scaling", """
The same over the whole trained context. Scaling slows the slow pairs, and the score falls later. The axis
is logarithmic and shows some of the distances only, so the wavering looks rougher than it is."""),
    ("rotation", "Rotation of the first pairs", """
Each pair turns at its own speed, and a token sees of the curves only what is at its marker. Pair 0 turns by
one radian per token, each further pair by a little less."""),
    ("heatmap", "All pairs at once", """
The cosine of each angle, light being 1. A column is what a position looks like. The fast pairs, on top,
repeat every few positions; those below the dashed line make no whole turn in the trained context."""),
    ("errors", "Errors of the angle", """
How far the worst pair's angle is from p ω, on logarithmic axes. Angles formed in float32 are off in
proportion to the position, until near 10^8 they are arbitrary. Tables of 16 bits are off by the same
everywhere, and so is ropewalk, by what float32 can hold of a cosine and a sine. See
[accuracy.md](accuracy.md)."""),
]

HEAD = """# Gallery

Pictures of what a rotary position embedding does, drawn by `ropewalk.plot`
(`pip install matplotlib`). Each stands below the command that makes it, which takes any model:
`--preset NAME`, `--config FILE` (a config.json or a GGUF) or `--spec FILE`, repeated to draw several over
one another; `python -m ropewalk.plot KIND --help` has the rest. In Python, `ropewalk.plot.draw_KIND` draws on
axes of your own, and `ropewalk.plot.KIND` returns the numbers. This page and its pictures are written by
`scripts/write_gallery.py`.
"""
LARGEST = 60 * 1024


def command(name):
    """As it stands above, with its line breaks."""
    return re.search(rf"^# \[{name}\]\n(.*?)\n# \[/{name}\]$", COMMANDS, re.MULTILINE | re.DOTALL)[1]


def page():
    text = HEAD
    for name, title, what in PICTURES:
        text += (f"\n## {title}\n\n<!-- file: scripts/write_gallery.py [{name}] -->\n"
                 f"```bash\n{command(name)}\n```\n\n![{title}](gallery/{name}.svg)\n{what}\n")
    return text


def draw(root):
    (root / "docs/gallery").mkdir(exist_ok=True)
    for name, _, _ in PICTURES:
        words = shlex.split(command(name).replace("\\\n", " "))
        subprocess.run([sys.executable, *words[1:]], cwd=root, check=True)
    (root / "docs/gallery.md").write_text(page(), encoding="utf-8")


def problems(root):
    path = root / "docs/gallery.md"
    if not path.is_file():
        yield "docs/gallery.md: no such file"
    elif path.read_text(encoding="utf-8") != page():
        yield "docs/gallery.md: not what scripts/write_gallery.py writes: a command or a text differs"
    for name, _, _ in PICTURES:
        picture = root / f"docs/gallery/{name}.svg"
        if f"-o docs/gallery/{name}.svg" not in command(name):
            yield f"scripts/write_gallery.py: the command of {name} does not write docs/gallery/{name}.svg"
        if not picture.is_file():
            yield f"docs/gallery/{name}.svg: no such file"
        elif picture.stat().st_size > LARGEST:
            yield f"docs/gallery/{name}.svg: {picture.stat().st_size} bytes, at most {LARGEST}"
        elif "<dc:date>" in picture.read_text(encoding="utf-8"):
            yield f"docs/gallery/{name}.svg: says when it was drawn"
    known = {f"{name}.svg" for name, _, _ in PICTURES}
    for other in sorted((root / "docs/gallery").glob("*")):
        if other.name not in known:
            yield f"docs/gallery/{other.name}: no command makes it"


def main(arguments):
    check = arguments[:1] == ["--check"]
    arguments = arguments[check:]
    if len(arguments) > 1 or any(argument.startswith("-") for argument in arguments):
        print("write_gallery: want [--check] [ROOT]", file=sys.stderr)
        return 2
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    if not check:
        draw(root)
    found = list(problems(root))
    for problem in found:
        print(problem)
    print(f"write_gallery: {len(PICTURES)} pictures, {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
