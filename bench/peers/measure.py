"""Times in rotated order: the same rules as those of `ropewalk bench`, see bench/measure.hpp."""

import statistics
import time

# Of the whole process, so that a peer's helpers count and other people's programs do not.
CLOCK = time.process_time_ns
LONG_NS = 10_000_000


def order_of_round(number, count):
    """Who is measured after whom changes from round to round."""
    return [(number + i) % count for i in range(count)]


def turn(run, calls, batch_ns, clock=CLOCK, warm=True):
    """Nanoseconds of one call, and how many calls make a batch: more, if they turn out not to."""
    # What the turn before left in caches and predictors is overwritten by its own; in a call as long as
    # LONG_NS that happens within the call.
    if warm:
        run.run(max(1, calls // 8))
    while True:
        start = clock()
        done = run.run(calls)
        elapsed = clock() - start
        if elapsed >= batch_ns:
            return elapsed / done, calls
        calls *= 2


def measure(runs, rounds, batch_ns, clock=CLOCK):
    """The median time of a call of each, in nanoseconds."""
    last, calls = (list(each) for each in zip(*(turn(run, 1, batch_ns, clock) for run in runs)))
    times = [[] for _ in runs]
    for number in range(rounds):
        for i in order_of_round(number, len(runs)):
            last[i], calls[i] = turn(runs[i], calls[i], batch_ns, clock, last[i] < LONG_NS)
            times[i].append(last[i])
    return [statistics.median(each) for each in times]
