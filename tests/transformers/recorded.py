"""Which layers of a model of transformers rotate, by which function, with the table of which rotary class.

The model is made of its config on the device `meta`, where tensors have shapes and no data, and is called
once. What is no attention is left out of it.
"""

import contextlib
import dataclasses
import functools
import importlib
import inspect
import itertools
import pathlib
import re
import sys
from unittest import mock

import torch
from torch import nn
from transformers import CONFIG_MAPPING, PreTrainedModel, initialization

TOKENS = 7  # no model has so many heads

ROTATES = re.compile(r"apply_.*rotary.*|apply_rope.*|apply_multimodal_rotary.*")
# What takes long before a layer comes to its attention, or has none.
IS_NO_ATTENTION = {
    "mlp", "feed_forward", "feedforward", "block_sparse_moe", "ffn", "ff", "moe", "shared_mlp", "experts",
    "laurel", "linear_attn", "mamba", "conv",
}


@dataclasses.dataclass
class Table:
    """An output of a rotary class: cos, sin, or both as a complex number."""

    module: nn.Module
    arguments: tuple
    keywords: dict
    index: int

    @property
    def layer_type(self):
        names = inspect.signature(self.module.forward).parameters
        bound = dict(zip(names, self.arguments)) | self.keywords
        return bound.get("layer_type")


@dataclasses.dataclass
class Rotation:
    """A call of a function that rotates. Tables among its arguments are Table, tensors are on meta."""

    function: object
    arguments: tuple
    keywords: dict

    @property
    def tables(self):
        return [a for a in (*self.arguments, *self.keywords.values()) if isinstance(a, Table)]

    @property
    def tensors(self):
        """Queries, and keys if they are rotated together."""
        values = (*self.arguments, *self.keywords.values())
        return [a for a in values if torch.is_tensor(a) and a.dim() == 4]


def modules_of(config_class):
    """The modeling files beside a config class."""
    package = config_class.__module__.rsplit(".", 1)[0]
    folder = pathlib.Path(sys.modules[config_class.__module__].__file__).parent
    files = sorted(folder.glob("modeling_*.py"))
    return [importlib.import_module(f"{package}.{file.stem}") for file in files]


def model_class_of(model_type):
    """The model that a config class is of, without a head."""
    config_class = CONFIG_MAPPING[model_type]
    found = []
    for module in modules_of(config_class):
        for name, kind in inspect.getmembers(module, inspect.isclass):
            if kind.__module__ != module.__name__ or not issubclass(kind, PreTrainedModel):
                continue
            if kind.config_class is config_class and not name.endswith("PreTrainedModel"):
                found.append(kind)
    names = {kind.__name__: kind for kind in found}
    return names[min(names, key=lambda name: ("For" in name, not name.endswith("Model"), len(name)))]


class Nothing(nn.Module):
    """In place of a layer's part that is no attention."""

    def __init__(self, part, outputs):
        super().__init__()
        self.outputs = outputs
        self.weight = getattr(part, "weight", None)

    def forward(self, *arguments, **keywords):
        x = (*arguments, *keywords.values())[0]
        return x if self.outputs == 1 else (x,) + (None,) * (self.outputs - 1)


class Attended(Exception):
    """Raised where attention begins: what a layer does after that is of no interest."""


class Recording:
    """Fills `rotations`: a list of Rotation for each layer."""

    def __init__(self, model):
        lists = [m for m in model.modules() if isinstance(m, nn.ModuleList)]
        self.layers = max(lists, key=len)
        self.rotations = [[] for _ in self.layers]
        self.layer = None
        self.ends_here = False
        self.tables = {}
        self.kept = []  # so that no id is used twice
        for i, layer in enumerate(self.layers):
            layer.register_forward_pre_hook(lambda *_, i=i: setattr(self, "layer", i))
        for module in model.modules():
            if "Rotary" in type(module).__name__:
                module.register_forward_hook(self.keep_table, with_kwargs=True)

    def attended(self, module, query, key, value, *_, **__):
        """In place of attention: where no layer is to end, something of the shape of its output."""
        if self.ends_here:
            raise Attended
        return torch.zeros(query.shape[0], query.shape[2], query.shape[1], value.shape[-1]), None

    def until_attention(self, forward, outputs, hidden, *arguments, **keywords):
        """In place of a layer's forward. Of no outputs: it runs to its own end."""
        assert hidden.dim() > 2, "the layer before returned too much or too little"
        self.ends_here = outputs > 0
        try:
            return forward(hidden, *arguments, **keywords)
        except Attended:
            return hidden if outputs == 1 else (hidden,) + (None,) * (outputs - 1)
        finally:
            self.ends_here = False

    def keep_table(self, module, arguments, keywords, output):
        for index, tensor in enumerate(output if isinstance(output, tuple) else (output,)):
            self.tables[id(tensor)] = Table(module, arguments, keywords, index)
            self.kept.append(tensor)

    def spied(self, function):
        def spy(*arguments, **keywords):
            known = lambda value: self.tables.get(id(value), value)
            named = {k: known(v) for k, v in keywords.items()}
            rotation = Rotation(function, tuple(map(known, arguments)), named)
            if self.layer is not None:
                self.rotations[self.layer].append(rotation)
            queries, *keys = rotation.tensors[:2]
            return (queries, *keys) if keys else queries

        return spy


@contextlib.contextmanager
def replaced(modules, chosen, replacement):
    """Replaces the functions of these modules that are chosen by name."""
    before = []
    for module in modules:
        for name, value in list(vars(module).items()):
            if callable(value) and not inspect.isclass(value) and chosen(name):
                before.append((module, name, value))
                setattr(module, name, replacement(value))
    try:
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)


def inputs_of(model):
    names = inspect.signature(model.forward).parameters
    ids = torch.zeros(1, TOKENS, dtype=torch.long)
    inputs = {"input_ids": ids} if "input_ids" in names else {}
    if not inputs:
        inputs["inputs_embeds"] = torch.zeros(1, TOKENS, model.config.hidden_size)
    if "decoder_input_ids" in names:
        inputs["decoder_input_ids"] = ids
    if "use_cache" in names:
        inputs["use_cache"] = False
    return inputs


def record(config, model_class=None):
    """The rotations of each layer, a list of lists."""
    config._attn_implementation = "eager"
    failure = None
    model_class = model_class or model_class_of(config.model_type)
    # What a layer and its parts return, and what they take for a mask, differs from model to model.
    for how in itertools.product((True, False), (1, 2, 0), (1, 2)):
        try:
            return record_with(config, model_class, *how)
        except Exception as error:  # pylint: disable=broad-except
            failure = failure or error
    raise failure


def record_with(config, model_class, masked, returns, outputs):
    modules = modules_of(type(config))
    unfilled = initialization.no_init_weights(), mock.patch.object(PreTrainedModel, "post_init")
    with torch.device("meta"), torch.no_grad(), unfilled[0], unfilled[1]:
        mask = torch.zeros(1, 1, TOKENS, TOKENS) if masked else None
        model = model_class(config).eval()
        recording = Recording(model)
        for layer in recording.layers:
            layer.forward = functools.partial(recording.until_attention, layer.forward, returns)
            for name, part in list(layer.named_children()):
                if name in IS_NO_ATTENTION:
                    setattr(layer, name, Nothing(part, outputs))
                elif name.endswith("norm") and not isinstance(part, nn.ModuleList):
                    setattr(layer, name, Nothing(part, 1))
        is_mask = re.compile(r"create_.*mask.*").fullmatch
        masks = replaced(modules, is_mask, lambda _: lambda *_, **__: mask)
        attention = replaced(modules, "eager_attention_forward".__eq__, lambda _: recording.attended)
        with masks, attention, replaced(modules, ROTATES.fullmatch, recording.spied):
            model(**inputs_of(model))
    return recording.rotations
