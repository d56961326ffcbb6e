"""Augmenter, the base class, and the augmenters that apply several others."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import ndarray as nd

__all__ = ["Augmenter", "RandomOrderAug", "SequentialAug"]


class Augmenter:
    """Base class of random changes: a subclass is called with an image (height, width, channels) and gives an image.

    Args:
        **kwargs: what `dumps` writes; arrays are written as lists.

    Raises:
        NotImplementedError: in a call, the subclass does not define it.

    Example:
        >>> class Darker(mx.image.Augmenter):
        ...     def __init__(self, factor):
        ...         super().__init__(factor=factor)
        ...         self.factor = factor
        ...     def __call__(self, src): return src / self.factor
        >>> Darker(2).dumps()
        '["darker", {"factor": 2}]'

    Source: `mxnet.image.Augmenter` of MXNet 1.9.1.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = {k: self._plain(v) for k, v in kwargs.items()}

    @staticmethod
    def _plain(value: Any) -> Any:
        if isinstance(value, nd.NDArray):
            value = value.asnumpy()
        return value.tolist() if isinstance(value, np.ndarray) else value

    def dumps(self) -> Any:
        """The name and the arguments, as JSON."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, src: nd.NDArray) -> nd.NDArray:
        raise NotImplementedError(f"{type(self).__name__} does not define __call__")


class SequentialAug(Augmenter):
    """Several augmenters, one after the other.

    Args:
        ts: the augmenters.

    Example:
        >>> both = mx.image.SequentialAug([mx.image.HorizontalFlipAug(1), mx.image.CastAug("float64")])
        >>> both(nd.array([[[1], [2]]])).asnumpy().ravel()
        array([2., 1.])

    Source: `mxnet.image.SequentialAug` of MXNet 1.9.1.
    """

    def __init__(self, ts: Sequence[Augmenter]) -> None:
        super().__init__()
        self.ts = ts

    def dumps(self) -> Any:
        return [type(self).__name__.lower(), [t.dumps() for t in self.ts]]

    def __call__(self, src: nd.NDArray) -> nd.NDArray:
        for t in self.ts:
            src = t(src)
        return src


class RandomOrderAug(SequentialAug):
    """Several augmenters, in a new order each time.

    Args:
        ts: the augmenters, a list, which is shuffled.

    Example:
        >>> both = mx.image.RandomOrderAug([mx.image.HorizontalFlipAug(1), mx.image.HorizontalFlipAug(1)])
        >>> both(nd.array([[[1], [2]]])).asnumpy().ravel()
        array([1., 2.], dtype=float32)

    Source: `mxnet.image.RandomOrderAug` of MXNet 1.9.1.
    """

    def __call__(self, src: nd.NDArray) -> nd.NDArray:
        random.shuffle(self.ts)
        return super().__call__(src)
