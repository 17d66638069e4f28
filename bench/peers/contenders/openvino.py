"""OpenVINO's CPU plugin: the usual formula, which it compiles to an operator of its own."""

import numpy as np
import openvino as ov
from openvino import opset13 as op

import work as w
from contender import Contender, Form, Run

FORM = Form(in_place=False, ready=True, layout="bhtd")


def part(x, begin, end):
    begin, end, step, axis = (np.array([each], np.int64) for each in (begin, end, 1, -1))
    return op.slice(x, begin, end, step, axis)


def halves(x, cos, sin, head_dim):
    a, b = part(x, 0, head_dim // 2), part(x, head_dim // 2, 2**31 - 1)
    minus = op.multiply(b, np.array([[[[-1.0]]]], np.float32))
    return op.add(op.multiply(x, cos), op.multiply(op.concat([minus, a], -1), sin))


class VinoRun(Run):
    def __init__(self, work):
        shape = [1, work.heads, work.tokens, work.head_dim]
        x, cos, sin = (op.parameter(each, np.float32)
                       for each in (shape, [1, 1, *shape[2:]], [1, 1, *shape[2:]]))
        compiled = ov.Core().compile_model(
            ov.Model([halves(x, cos, sin, work.head_dim)], [x, cos, sin]), "CPU",
            {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32",
             "ENABLE_CPU_PINNING": False})
        self.request = compiled.create_infer_request()
        rows = [np.concatenate((each, each), -1)[None, None] for each in w.table(work)]
        given = (np.ascontiguousarray(w.tensor(work).swapaxes(0, 1)[None]), *rows)
        for i, array in enumerate(given):
            self.request.set_input_tensor(i, ov.Tensor(np.ascontiguousarray(array)))

    def run(self, calls):
        infer = self.request.infer
        for _ in range(calls):
            infer()
        return calls

    def output(self):
        self.run(1)
        return self.request.get_output_tensor(0).data[0].swapaxes(0, 1).copy()


def contenders():
    # What says adjacent is not recognised, but compiled to many operators.
    return [Contender("OpenVINO", FORM, VinoRun, dtypes=("f32",), pairings=("halves",))]


def versions():
    return {"openvino": ov.__version__}
