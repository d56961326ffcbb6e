"""Whether the core is as fast as it can be.

On a machine that others share, a core can be slow for seconds at a time, because a program that cannot be seen uses the
other half of the same core. CPU time counts this as the program's own, and the rounds of a short workload are over
within a second. So samples count if a fixed loop, which needs nothing but the core, is fast before and after them.
"""

from __future__ import annotations

import time

LOOPS = 5000  # about 0.15 ms
# A slow core takes 1.4 to 2 times as long; the loop itself varies by a tenth.
SLOW = 1.25
PAUSE = 0.1  # seconds after which a slow core is tried again


def loop() -> float:
    """The CPU time of a fixed loop, the least of three."""
    least = float("inf")
    for _ in range(3):
        start, total = time.thread_time(), 0
        for i in range(LOOPS):
            total += i
        least = min(least, time.thread_time() - start)
    return least


class Pace:
    """The least time of the loop on this machine's cores so far, to which later times are compared."""

    def __init__(self, loop=loop, clock=time.perf_counter, sleep=time.sleep):
        self.least = float("inf")
        self.loop, self.clock, self.sleep = loop, clock, sleep

    def slow(self) -> bool:
        taken = self.loop()
        self.least = min(self.least, taken)
        return taken > SLOW * self.least

    def samples(self, take, count, patience):
        """`count` results of `take` from a core at full speed, and how many of them are not: once `patience` seconds
        are over, every result counts.
        """
        results, slow_ones, end = [], 0, self.clock() + patience
        before = self.slow()
        while len(results) < count:
            result = take()
            after = self.slow()
            if not (before or after):
                results.append(result)
            elif self.clock() >= end:
                results.append(result)
                slow_ones += 1
            else:
                self.sleep(PAUSE)
                take()  # after the pause the caches have others' data
                after = self.slow()
            before = after
        return results, slow_ones
