"""The numbers of a family's own rotary class, and its own rotation of queries."""

import dataclasses
import inspect

import numpy as np
import torch
from recorded import TOKENS, Table

# One a token, and a row for each axis; small enough for float32 angles.
POSITIONS = np.array([
    [0, 1, 2, 9, 40, 77, 130],
    [3, 1, 8, 0, 21, 50, 90],
    [5, 7, 1, 30, 2, 11, 60],
    [2, 6, 4, 3, 12, 70, 33],
])


@dataclasses.dataclass
class Numbers:
    frequencies: np.ndarray
    attention_factor: float


def rotary_of(table, config):
    """The rotary class of a table, made of another config of the same class."""
    return type(table.module)(config=config)


def outputs_of(rotary, table, positions):
    """Calls a rotary class as the model called it. `positions` has a row for each axis."""
    names = list(inspect.signature(rotary.forward).parameters)
    arguments = dict(zip(names, table.arguments)) | table.keywords
    for name, value in arguments.items():
        if not torch.is_tensor(value):
            continue
        if value.is_floating_point():
            arguments[name] = torch.zeros(1, TOKENS, 1)
        else:
            rows = torch.tensor(positions[: value.shape[0]] if value.dim() == 3 else positions[0])
            arguments[name] = rows.reshape(*value.shape[:-1], TOKENS)
    with torch.no_grad():
        outputs = rotary(**arguments)
    return outputs if isinstance(outputs, tuple) else (outputs,)


def numbers(config, rotation, length=None):
    """What the family's rotary class computes for a text of this length."""
    table = rotation.tables[0]
    rotary = rotary_of(table, config)
    if length:
        outputs_of(rotary, table, np.full_like(POSITIONS, length - 1))
    prefix = f"{table.layer_type}_" if table.layer_type else ""
    if not hasattr(rotary, f"{prefix}inv_freq"):
        prefix = ""
    factor = getattr(rotary, f"{prefix}attention_scaling", 1.0)
    return Numbers(getattr(rotary, f"{prefix}inv_freq").double().flatten().numpy(), float(factor))


def axes_of(rotation):
    """The number of rows of positions that the rotary class was called with."""
    table = rotation.tables[0]
    tensors = [v for v in (*table.arguments, *table.keywords.values()) if torch.is_tensor(v)]
    return next((t.shape[0] for t in tensors if t.dim() == 3 and not t.is_floating_point()), 1)


def rotated(config, rotation, width=None):
    """Random queries and what the family makes of them, both [1, tokens, heads, width]."""
    made = {}

    def real(value):
        if isinstance(value, Table):
            key = type(value.module), value.layer_type
            if key not in made:
                made[key] = outputs_of(rotary_of(value, config), value, POSITIONS)
            return made[key][value.index]
        if torch.is_tensor(value) and value.is_floating_point():
            shape = [*value.shape[:-1], width or value.shape[-1]]
            return torch.randn(shape, generator=torch.Generator().manual_seed(1))
        return value

    arguments = [real(a) for a in rotation.arguments]
    keywords = {k: real(v) for k, v in rotation.keywords.items()}
    queries = next(a for a in (*arguments, *keywords.values()) if torch.is_tensor(a))
    before = queries.clone()
    with torch.no_grad():
        after = rotation.function(*arguments, **keywords)
    after = after[0] if isinstance(after, tuple) else after
    if before.shape[1] != TOKENS:  # heads first
        before, after = before.transpose(1, 2), after.transpose(1, 2)
    return before.numpy(), after.reshape(before.shape).numpy()
