"""Libraries in C and C++, through the functions of loop.h."""

import ctypes
from pathlib import Path

import work as w
from contender import Run

BUILD = Path(__file__).resolve().parents[2] / "build/peers"


class PeerWork(ctypes.Structure):
    _fields_ = [("x", ctypes.c_void_p), ("out", ctypes.c_void_p), ("positions", ctypes.c_void_p),
                ("f16", ctypes.c_int32), ("bf16", ctypes.c_int32), ("adjacent", ctypes.c_int32),
                ("heads_first", ctypes.c_int32), ("ready", ctypes.c_int32), ("single", ctypes.c_int32),
                ("tokens", ctypes.c_int64), ("heads", ctypes.c_int64), ("head_dim", ctypes.c_int64),
                ("base", ctypes.c_double)]


def load(name):
    file = BUILD / name / f"libpeer_{name}.so"
    if not file.exists():
        raise FileNotFoundError(f"{file.name} was not built: see what bench/peers/setup says")
    library = ctypes.CDLL(str(file))
    library.peer_create.restype = ctypes.c_void_p
    library.peer_create.argtypes = [ctypes.POINTER(PeerWork), ctypes.c_char_p, ctypes.c_int64]
    library.peer_run.restype = ctypes.c_int64
    library.peer_run.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    library.peer_destroy.restype = None
    library.peer_destroy.argtypes = [ctypes.c_void_p]
    library.peer_version.restype = ctypes.c_char_p
    return library


class NativeRun(Run):
    def __init__(self, library, work, form, single=False):
        self.library, self.work, self.form = library, work, form
        heads_first = form.layout == "bhtd"
        self.x = w.tensor(work)
        if heads_first:
            rows = self.x
            self.x = w.memory((work.heads, work.tokens, work.head_dim), rows.dtype)
            self.x[...] = rows.swapaxes(0, 1)
        self.out = None if form.in_place else w.memory(self.x.shape, self.x.dtype, output=True)
        self.positions = w.positions(work)
        given = PeerWork(self.x.ctypes.data, None if self.out is None else self.out.ctypes.data,
                         self.positions.ctypes.data, work.dtype == "f16", work.dtype == "bf16",
                         work.pairing == "adjacent", heads_first, form.ready, single, *work.shape, w.BASE)
        message = ctypes.create_string_buffer(256)
        self.peer = library.peer_create(given, message, len(message))
        if not self.peer:
            raise ValueError(message.value.decode())

    def __del__(self):
        if getattr(self, "peer", None):
            self.library.peer_destroy(self.peer)

    def run(self, calls):
        done = self.library.peer_run(self.peer, calls)
        if done < 0:
            raise RuntimeError("a call failed")
        return done

    def output(self):
        # In memory of its own: what is timed may rotate its tensor many times in place.
        one = NativeRun(self.library, self.work, self.form, single=True)
        one.run(1)
        y = one.x if one.out is None else one.out
        return y.swapaxes(0, 1) if self.form.layout == "bhtd" else y
