"""What takes part in the comparison."""

import importlib
from dataclasses import dataclass

# Modules of contenders/, in the order of the report; each has contenders().
PEERS = ("ggml", "onnxruntime", "pytorch", "transformers", "jax", "openvino", "mlx")


@dataclass(frozen=True)
class Form:
    """How a peer is used. ropewalk is measured in each form that a peer has, and compared in that one."""
    in_place: bool
    ready: bool        # cos and sin are given; otherwise the peer computes them from positions, each time
    layout: str = "bthd"

    def __str__(self):
        return ", ".join(("in place" if self.in_place else "to an output",
                          "ready angles" if self.ready else "fresh angles", self.layout))


class Run:
    """A work that is ready to be timed."""

    def run(self, calls):
        """Makes at least so many calls; returns how many it were."""
        raise NotImplementedError

    def output(self):
        """What one call makes of the tensor, [tokens, heads, head_dim]. Before anything is timed."""
        raise NotImplementedError


class Calls(Run):
    """A Python function that is called; its result in Python's words is `read`."""

    def __init__(self, call, read):
        self.call, self.read = call, read

    def run(self, calls):
        call = self.call
        for _ in range(calls):
            call()
        return calls

    def output(self):
        return self.read(self.call())


@dataclass(frozen=True)
class Contender:
    peer: str
    form: Form
    prepare: object  # Work -> Run
    dtypes: tuple = ("f32", "f16", "bf16")
    pairings: tuple = ("halves", "adjacent")
    # Work -> Run that does nothing but what a call costs whatever it does, with the same arguments.
    nothing: object = None


def contenders(module):
    return importlib.import_module(f"contenders.{module}").contenders()


def versions(module):
    return importlib.import_module(f"contenders.{module}").versions()
