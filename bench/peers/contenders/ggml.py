"""ggml's CPU backend: ggml_rope_ext_inplace, NEOX for halves and NORMAL for adjacent."""

from functools import cache

from contender import Contender, Form
from native import BUILD, NativeRun, load

FORM = Form(in_place=True, ready=False)


@cache
def library():
    return load("ggml")


def prepare(work):
    return NativeRun(library(), work, FORM)


def contenders():
    library()
    return [Contender("ggml", FORM, prepare, dtypes=("f32", "f16"))]


def versions():
    source = BUILD / "ggml-source"
    commit = (source / ".git/modules/vendor/llama.cpp/HEAD").read_text(encoding="utf-8")[:12]
    package = (BUILD / "requirements-ggml.txt").read_text(encoding="utf-8").split()[-1]
    return {"ggml": f"{library().peer_version().decode()}, of llama.cpp {commit} ({package})"}
