"""IntervalSampler: indices at a fixed distance."""

from __future__ import annotations

from collections.abc import Iterator

from ...data.sampler import Sampler

__all__ = ["IntervalSampler"]


class IntervalSampler(Sampler):
    """Indices at a fixed distance: 0, interval, 2 * interval, and so on below `length`.

    Args:
        length: the end of the indices.
        interval: the distance, at most `length`.
        rollover: then come 1, 1 + interval, and so on, until all indices had their turn.

    Raises:
        AssertionError: `interval` is larger than `length`.

    Example:
        >>> list(gluon.contrib.data.IntervalSampler(5, interval=2))
        [0, 2, 4, 1, 3]

    Source: `mxnet.gluon.contrib.data.IntervalSampler` of MXNet 1.9.1.
    """

    def __init__(self, length: int, interval: int, rollover: bool = True) -> None:
        if interval > length:
            raise AssertionError(f"IntervalSampler: interval {interval} must not be larger than length {length}")
        self._length = length
        self._interval = interval
        self._rollover = rollover

    def __iter__(self) -> Iterator[int]:
        for start in range(self._interval if self._rollover else 1):
            yield from range(start, self._length, self._interval)

    def __len__(self) -> int:
        return self._length
