"""Classes that make a mini-batch of a list of samples, for `batchify_fn` of a DataLoader. They came with MXNet 2."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import ndarray as nd
from ... import numpy as mx_np
from ..._image_codec import array_of
from ...util import is_np_array

__all__ = ["Stack", "Pad", "Append", "Group", "AsList"]


def _stacked(samples: Sequence[Any]) -> Any:
    """Samples stacked along a new first axis; for samples that are tuples, a list with one array for each element."""
    first = samples[0]
    if isinstance(first, nd.NDArray):
        if is_np_array():
            return mx_np.stack(samples)
        return nd.stack(*samples)
    if isinstance(first, tuple):
        return [_stacked(field) for field in zip(*samples, strict=False)]
    return array_of(np.asarray(samples))


class Stack:
    """Stacks samples of one shape along a new first axis.

    Call: `batchify(samples)`, samples a list of arrays or numbers; of tuples, the result is a list with one array for
    each element.

    Args:
        use_shared_mem: without effect here: workers share large arrays in any case.

    Raises:
        mxnet.base.MXNetError, ValueError: in a call, shapes differ.

    Example:
        >>> gluon.data.batchify.Stack()([np.array([1, 2]), np.array([3, 4])]).asnumpy()
        array([[1, 2],
               [3, 4]])

    Source: `mxnet.gluon.data.batchify.Stack` of MXNet 2.0.
    """

    def __init__(self, use_shared_mem: bool = False) -> None:
        self._use_shared_mem = use_shared_mem

    def __call__(self, data: Sequence[Any]) -> Any:
        if isinstance(data[0], (tuple, list)):
            return [self(field) for field in zip(*data, strict=False)]
        return _stacked(data)


class Pad:
    """Pads samples at the end of every axis to the longest of the batch, and stacks them.

    Call: `batchify(samples)`, samples a list of arrays or of lists of numbers.

    Args:
        val: what is filled in; None is 0.
        dtype: the dtype of the result; None is that of the samples.
        round_to: lengths are rounded up to a multiple of it; None does not round.
        use_shared_mem: without effect here: workers share large arrays in any case.

    Raises:
        NotImplementedError: in a call, samples are numbers or tuples.

    Example:
        >>> gluon.data.batchify.Pad(val=-1)([[1, 2, 3], [4]]).asnumpy()
        array([[ 1,  2,  3],
               [ 4, -1, -1]])

    Source: `mxnet.gluon.data.batchify.Pad` of MXNet 2.0.
    """

    def __init__(
        self, val: float | None = None, dtype: Any = None, round_to: int | None = None, use_shared_mem: bool = False
    ) -> None:
        self._pad_val = 0 if val is None else val
        self._dtype = dtype
        self._round_to = round_to
        self._use_shared_mem = use_shared_mem
        self._warned = False

    def __call__(self, data: Sequence[Any]) -> nd.NDArray:
        if not isinstance(data[0], (nd.NDArray, np.ndarray, list)):
            raise NotImplementedError(
                f"Pad: expected samples that are arrays or lists of numbers, got {type(data[0]).__name__}; for samples "
                "of several elements use Group(Pad(), Pad(), ...)"
            )
        if isinstance(data[0], nd.NDArray):
            if not self._warned:
                self._warned = True
                warnings.warn("Pad copies NDArrays to NumPy and back: pad before making NDArrays", stacklevel=2)
            arrays = [x.asnumpy() for x in data]
        else:
            arrays = [np.asarray(x) for x in data]
        longest = np.max([x.shape for x in arrays], axis=0)
        if self._round_to is not None:
            longest = -(-longest // self._round_to) * self._round_to
        padded = np.full((len(arrays), *longest), self._pad_val, self._dtype or arrays[0].dtype)
        for row, x in zip(padded, arrays, strict=True):
            row[tuple(slice(n) for n in x.shape)] = x
        return array_of(padded)


class Append:
    """A list of the samples as NDArrays, whose shapes may differ.

    Call: `batchify(samples)`, samples a list of arrays or of lists of numbers.

    Args:
        expand: each sample gets an axis of length 1 for the batch.
        batch_axis: the place of that axis.
        use_shared_mem: without effect here: workers share large arrays in any case.

    Raises:
        TypeError: in a call, a sample has something else than numbers.

    Example:
        >>> [x.shape for x in gluon.data.batchify.Append()([[1, 2, 3], [4]])]
        [(1, 3), (1, 1)]

    Source: `mxnet.gluon.data.batchify.Append` of MXNet 2.0.
    """

    def __init__(self, expand: bool = True, batch_axis: int = 0, use_shared_mem: bool = False) -> None:
        self._expand = expand
        self._batch_axis = batch_axis
        self._use_shared_mem = use_shared_mem

    def __call__(self, data: Sequence[Any]) -> list[nd.NDArray]:
        arrays = [x if isinstance(x, nd.NDArray) else nd.array(x) for x in data]
        return [x.expand_dims(axis=self._batch_axis) for x in arrays] if self._expand else arrays


class Group:
    """A function for each element of samples that are tuples.

    Call: `batchify(samples)`; the result is a tuple.

    Args:
        fn: the function of the first element, or a list of all functions.
        *args: the functions of the other elements.

    Raises:
        AssertionError: a function cannot be called, or there is a list and `args`; in a call, samples have another
            number of elements.

    Example:
        >>> batchify = gluon.data.batchify.Group(gluon.data.batchify.Pad(), gluon.data.batchify.Stack())
        >>> data, labels = batchify([([1, 2], 0), ([3], 1)])
        >>> data.asnumpy(), labels.asnumpy()
        (array([[1, 2],
               [3, 0]]), array([0, 1]))

    Source: `mxnet.gluon.data.batchify.Group` of MXNet 2.0.
    """

    def __init__(self, fn: Any, *args: Callable[..., Any]) -> None:
        if isinstance(fn, (list, tuple)):
            if args:
                raise AssertionError("Group: give the functions either as one list or as several arguments")
            self._fn = tuple(fn)
        else:
            self._fn = (fn, *args)
        for i, each in enumerate(self._fn):
            if not callable(each):
                raise AssertionError(f"Group: function {i} is not callable: {type(each).__name__}")

    def __call__(self, data: Sequence[Any]) -> tuple[Any, ...]:
        if len(data[0]) != len(self._fn):
            raise AssertionError(f"Group: samples have {len(data[0])} elements, there are {len(self._fn)} functions")
        return tuple(each([sample[i] for sample in data]) for i, each in enumerate(self._fn))


class AsList:
    """Returns a batch as a list of the unchanged samples, for example texts.

    Call: `batchify(samples)`.

    Example:
        >>> gluon.data.batchify.AsList()(("one", "two"))
        ['one', 'two']

    Source: `mxnet.gluon.data.batchify.AsList` of MXNet 2.0.
    """

    def __call__(self, data: Sequence[Any]) -> list[Any]:
        return list(data)
