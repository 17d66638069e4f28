"""ropewalk, through its C interface, in every form that a peer might have."""

import ctypes
import itertools
import os
from functools import cache, partial

from contender import Contender, Form
from native import NativeRun, load


@cache
def library():
    path = os.environ.get("ROPEWALK_PEERS_LIBRARY")
    if path:
        # It has the name of the one that libpeer_ropewalk.so was linked with, and is taken for that.
        ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    return load("ropewalk")


def prepare(work, form):
    return NativeRun(library(), work, form)


def contenders():
    forms = itertools.starmap(Form, itertools.product((True, False), (True, False), ("bthd", "bhtd")))
    return [Contender("ropewalk", form, partial(prepare, form=form)) for form in forms]


def versions():
    return {"ropewalk": library().peer_version().decode()}
