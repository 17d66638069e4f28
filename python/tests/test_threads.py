"""Threads: the package's own, Python's, and those of forked processes."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from conftest import rope_of

import ropewalk


def test_results_do_not_depend_on_threads(random):
    rope = rope_of(128)
    x = random.standard_normal((1, 300, 8, 128)).astype(np.float32)
    before = ropewalk.threads()
    try:
        results = []
        for count in (1, 2, 5):
            ropewalk.set_threads(count)
            assert ropewalk.threads() == count
            results.append(ropewalk.rotate(rope, x, 3))
    finally:
        ropewalk.set_threads(before)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
    for count in (0, -1, True, 1.5, 10**9):
        with pytest.raises(ValueError, match="want an integer from 1"):
            ropewalk.set_threads(count)


def test_calls_of_several_threads_at_once_are_independent(random):
    from concurrent.futures import ThreadPoolExecutor
    rope = rope_of(128)
    xs = [random.standard_normal((1, 200, 8, 128)).astype(np.float32) for _ in range(4)]
    wanted = [ropewalk.rotate(rope, x, i) for i, x in enumerate(xs)]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            results = list(pool.map(lambda i: ropewalk.rotate(rope, xs[i], i), range(4)))
            for result, one in zip(results, wanted):
                np.testing.assert_array_equal(result, one)


def test_angles_that_one_thread_assigns_and_another_uses(random):
    from concurrent.futures import ThreadPoolExecutor
    rope = rope_of(64)
    x = random.standard_normal((1, 300, 4, 64)).astype(np.float32)
    angles = ropewalk.Angles(rope, ropewalk.Positions.start(0, 300))
    allowed = [ropewalk.rotate(rope, x, start) for start in (0, 1)]

    def assign(i):
        angles.assign(rope, ropewalk.Positions.start(i % 2, 300))
        return True

    def use(_):
        result = ropewalk.rotate(angles, x)
        return any(np.array_equal(result, one) for one in allowed)
    with ThreadPoolExecutor(4) as pool:
        results = [pool.submit(function, i) for i in range(100) for function in (assign, use)]
        assert all(result.result() for result in results)


def ran(program):
    """A program of its own, which must end well, and soon."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


PARENT = """
    import os, sys, threading
    import numpy as np
    import ropewalk
    ropewalk.set_threads(4)
    rope = ropewalk.Rope(ropewalk.Spec(head_dim=128))
    x = np.ones((1, 600, 8, 128), np.float32)
    ropewalk.rotate(rope, x, 3)
"""


def test_a_forked_process_ends_as_it_wants_to():
    assert ran(PARENT + """
    for rotates in (False, True):
        if os.fork() == 0:
            if rotates:
                ropewalk.rotate(rope, x, 3)
            sys.exit(0)
        print(os.wait()[1])
    """) == "0\n0\n"


@pytest.mark.parametrize("calls, child", [
    ("""[lambda count=count: (ropewalk.set_threads(count), ropewalk.rotate(rope, x, 3)) for count in (2, 3)]""",
     "ropewalk.rotate(rope, x, 3)"),
    ("""[lambda: ropewalk.rotate(angles, x), lambda: angles.assign(rope, ropewalk.Positions.start(1, 600))]""",
     "angles.assign(rope, ropewalk.Positions.start(2, 600)); ropewalk.rotate(angles, x)"),
], ids=["plans", "angles"])
def test_a_fork_beside_calls_of_other_threads(calls, child):
    assert ran(PARENT + f"""
    angles = ropewalk.Angles(rope, ropewalk.Positions.start(0, 600))
    ended = threading.Event()
    def work(call):
        while not ended.is_set():
            call()
    threads = [threading.Thread(target=work, args=(call,)) for call in {calls}]
    for thread in threads:
        thread.start()
    codes = set()
    for _ in range(30):
        if os.fork() == 0:
            {child}
            os._exit(0)
        codes.add(os.wait()[1])
    ended.set()
    for thread in threads:
        thread.join()
    print(codes)
    """) == "{0}\n"


def test_without_threads_to_be_had_a_call_is_done_all_the_same():
    assert ran("""
    import os, resource
    import numpy as np
    import ropewalk
    rope = ropewalk.Rope(ropewalk.Spec(head_dim=128))
    x = np.ones((4, 1024, 8, 128), np.float32)
    ropewalk.set_threads(1)
    wanted = ropewalk.rotate(rope, x, 3)
    resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
    if os.getuid() == 0:  # whom no limit holds
        os.setuid(65533)
    ropewalk.set_threads(8)
    print(bool((ropewalk.rotate(rope, x, 3) == wanted).all()))
    """) == "True\n"
