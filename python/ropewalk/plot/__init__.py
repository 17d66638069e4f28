"""Pictures of rotary position embeddings, by matplotlib (pip install matplotlib).

    python -m ropewalk.plot wavelengths --preset llama-3.1-8b --unscaled -o wavelengths.svg

    source = Source.of_preset("llama-3.1-8b")
    axes = draw_wavelengths([source, source.unscaled()])

Each kind of picture is two functions: one that returns what is drawn as NumPy arrays, of a Rope, and
draw_KIND, which draws it for one or several Sources and returns matplotlib's Axes.

    kind          what is drawn
    frequencies   radians per position of each pair
    wavelengths   positions per turn of each pair, against the trained context
    scores        the score of a query and a key against their distance
    rotation      cos and sin of the first pairs over positions
    heatmap       cos(p ω_i), positions by pairs
    errors        how far an angle is off, by position: ropewalk, float32 angles, 16-bit tables

matplotlib is imported by the functions that draw, and by no other.
"""

from .data import (Errors, Rotation, Scores, errors, exact_angles, frequencies, heatmap, rotation, scores,
                   wavelengths)
from .draw import (draw_errors, draw_frequencies, draw_heatmap, draw_rotation, draw_scores, draw_wavelengths,
                   save)
from .sources import Source

__all__ = [
    "Errors", "Rotation", "Scores", "Source", "draw_errors", "draw_frequencies", "draw_heatmap",
    "draw_rotation", "draw_scores", "draw_wavelengths", "errors", "exact_angles", "frequencies", "heatmap",
    "rotation", "save", "scores", "wavelengths",
]
