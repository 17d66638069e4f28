"""What is drawn: a rope, what to call it, and the context that its model was trained on."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from .. import Model, Rope, Spec


@dataclasses.dataclass(frozen=True)
class Source:
    """A rope to be drawn.

    label: what the legend calls it.
    spec, length: what its rope is made of; length as in Rope.
    trained_length: the context of its model in positions, or None.
    """

    label: str
    spec: Spec
    length: int | None = None
    trained_length: int | None = None

    @property
    def rope(self) -> Rope:
        return Rope(self.spec, self.length)

    @property
    def original_length(self) -> int | None:
        """The context before it was stretched, if the scaling says it."""
        return self.spec.scaling.get("original_max_position_embeddings")

    def unscaled(self) -> Source | None:
        """The same without its scaling, and without its attention factor; None if it has no scaling."""
        fields = self.spec.to_dict()
        if "scaling" not in fields:
            return None
        fields = {key: value for key, value in fields.items() if key not in ("scaling", "attention_factor")}
        return dataclasses.replace(self, label=f"{self.label}, unscaled", spec=Spec(**fields))

    @classmethod
    def of_model(cls, model: Model, label: str, layer: int | None = None,
                 length: int | None = None) -> Source:
        """Of a layer of a model; without one, of its first layer that rotates.

        Raises ValueError if the layer is not there or does not rotate.
        """
        if layer is None:
            kind = next((kind for kind in model.kinds if kind.rotates), None)
            if kind is None:
                raise ValueError(f"{label}: no layer rotates")
        else:
            try:
                kind = model.layer(layer)
            except ValueError as error:
                raise ValueError(f"{label}: {error}") from None
            label = f"{label}, layer {layer}"
            if not kind.rotates:
                raise ValueError(f"{label}: this layer does not rotate")
        return cls(label, kind.spec, length, model.trained_length)

    @classmethod
    def of_preset(cls, name: str, layer: int | None = None, length: int | None = None) -> Source:
        """Of a well-known model, one of ropewalk.presets()."""
        return cls.of_model(Model.from_preset(name), name, layer, length)

    @classmethod
    def of_file(cls, path: str | os.PathLike[str], layer: int | None = None,
                length: int | None = None) -> Source:
        """Of a config.json or a GGUF, called by the name of the file, or of its folder."""
        path = Path(path)
        label = path.absolute().parent.name if path.name == "config.json" else path.stem
        return cls.of_model(Model.from_file(os.fspath(path)), label or "config", layer, length)

    @classmethod
    def of_spec(cls, given: Spec | str | os.PathLike[str], length: int | None = None) -> Source:
        """Of a Spec, of the text of its JSON form, or of a file of that, called by the file's name."""
        if isinstance(given, Spec):
            return cls(_described(given), given, length)
        text = os.fspath(given)
        if text.lstrip().startswith("{"):
            spec = Spec.from_json(text)
            return cls(_described(spec), spec, length)
        try:
            return cls(Path(text).stem, Spec.from_json(Path(text).read_text(encoding="utf-8")), length)
        except ValueError as error:
            raise ValueError(f"{text}: {error}") from None


def _described(spec: Spec) -> str:
    """By what tells it from others in a picture."""
    if spec.base is None:
        return "given frequencies"
    words = [f"base {spec.base:.15g}"]
    if spec.scaling["type"] != "default":
        words.append(spec.scaling["type"])
        words += [f"{key} {spec.scaling[key]:.15g}" for key in ("factor", "alpha") if key in spec.scaling]
    return ", ".join(words)
