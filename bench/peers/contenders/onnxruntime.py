"""onnxruntime's two operators named RotaryEmbedding, called with bound inputs and outputs.

What a call costs whatever it does is that of a model with the same inputs whose only operator tells the
shape of one of them.
"""

from functools import partial

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

import work as w
from contender import Contender, Form, Run

FORM = Form(in_place=False, ready=True)
TYPES = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16}
# Name, domain, its version, and the order of the inputs.
OPERATORS = (
    ("onnxruntime (com.microsoft)", "com.microsoft", 1, ("x", "positions", "cos", "sin")),
    ("onnxruntime (ai.onnx)", "", 23, ("x", "cos", "sin", "positions")),
)


def value(name, kind, *shape):
    return helper.make_tensor_value_info(name, kind, shape)


def model(work, domain, version, order, nothing):
    kind = TYPES[work.dtype]
    inputs = [value("x", kind, 1, "tokens", work.heads * work.head_dim),
              value("positions", TensorProto.INT64, 1, "tokens"),
              value("cos", kind, "rows", work.head_dim // 2), value("sin", kind, "rows", work.head_dim // 2)]
    if nothing:
        node = helper.make_node("Shape", ["x"], ["y"])
        output = value("y", TensorProto.INT64, 3)
    else:
        node = helper.make_node("RotaryEmbedding", order, ["y"], domain=domain, num_heads=work.heads,
                                interleaved=int(work.pairing == "adjacent"))
        output = value("y", kind, 1, "tokens", work.heads * work.head_dim)
    graph = helper.make_graph([node], "rotary", inputs, [output])
    opsets = [helper.make_opsetid("", 23)] + ([helper.make_opsetid(domain, version)] if domain else [])
    return helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()


class OrtRun(Run):
    def __init__(self, work, domain, version, order, nothing=False):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            model(work, domain, version, order, nothing), options, providers=["CPUExecutionProvider"])
        rows = w.numpy_dtype(work.dtype)
        cos, sin = (each.astype(rows) for each in w.table(work))
        x = w.tensor(work).reshape(1, work.tokens, -1)
        given = {"x": x, "positions": np.arange(work.tokens, dtype=np.int64)[None], "cos": cos, "sin": sin}
        self.binding = self.session.io_binding()
        for name, array in given.items():
            self.binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(array))
        y = np.zeros(3, np.int64) if nothing else w.memory(x.shape, x.dtype, output=True)
        self.y = onnxruntime.OrtValue.ortvalue_from_numpy(y)
        self.binding.bind_ortvalue_output("y", self.y)
        self.shape = work.shape

    def run(self, calls):
        call, binding = self.session.run_with_iobinding, self.binding
        for _ in range(calls):
            call(binding)
        return calls

    def output(self):
        self.run(1)
        # A copy: numpy() is the memory of self.y.
        return self.y.numpy().copy().reshape(self.shape)


def contenders():
    return [Contender(name, FORM, partial(OrtRun, domain=domain, version=version, order=order),
                      dtypes=("f32", "f16"),
                      nothing=partial(OrtRun, domain=domain, version=version, order=order, nothing=True))
            for name, domain, version, order in OPERATORS]


def versions():
    return {"onnxruntime": onnxruntime.__version__, "onnx": onnx.__version__}
