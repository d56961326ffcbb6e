"""Parameters and gradients of a network over processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy
import torch

import compatgrad.chainer as chainer
from compatgrad.chainer._link_walk import all_params
from compatgrad.chainermn.communicators._tensors import to_tensor
from compatgrad.core.distributed.reducing import reduce_tensors

if TYPE_CHECKING:
    from compatgrad.chainer.link import Link
    from compatgrad.core.distributed import Group

_TORCH = {numpy.dtype(name): getattr(torch, name) for name in ("float16", "float32", "float64", "int32", "int64")}
_SHOWN = 20


def _listed(names):
    """Names of parameters for an error: the first ones, and how many more."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{len(names)} ({', '.join(names[:_SHOWN])}{more})"


def check_finite(arrays):
    """Raises ValueError if a number is not finite."""
    for array in arrays:
        if not chainer.backend.get_array_module(array).isfinite(array).all():
            raise ValueError("Parameters diverged after allreduce.")


class Means:
    """Replaces the gradients of a network by their means over the processes. `finish` waits for the results.

    Args:
        comm: the communicator.
        model: the network.
        zero_fill: whether a gradient that is None counts as zeros. Otherwise it is skipped.
    """

    def __init__(self, comm: Any, model: Link, zero_fill: bool) -> None:
        self.comm = comm
        self.params = []
        self.buckets = None
        names = []
        alone = comm.size == 1 or comm._is_dummy
        for name, param in (("", p) for p in all_params(model)) if alone else sorted(model.namedparams()):
            if param.tensor is None:
                continue
            if param._grad_tensor is None:
                if not zero_fill:
                    continue
                param.grad = param.device.xp.zeros_like(param.array)
            self.params.append(param)
            names.append(name)
        if alone:
            return
        self.arrays = [param.grad for param in self.params]
        self.tensors = [to_tensor(array) for array in self.arrays]
        dtypes = [_wire(comm, array.dtype) for array in self.arrays]
        group, who = comm._group, comm._name("multi_node_mean_grad")
        # a communicator that divides in the gradients' own dtype does so after the sums have arrived
        factor = 1.0 if comm._divides_at_home else 1.0 / comm.size
        words = lambda: f"the gradients of {_listed(names)}"  # noqa: E731
        self.buckets = reduce_tensors(group, self.tensors, dtypes, factor, who, names, words)

    def finish(self) -> None:
        """Waits for the means, and writes them into the gradients' arrays."""
        if self.buckets is not None:
            buckets, self.buckets = self.buckets, None
            buckets.finish()
            if self.comm._divides_at_home and self.tensors:
                torch._foreach_mul_(self.tensors, 1.0 / self.comm.size)
            for param, array, tensor in zip(self.params, self.arrays, self.tensors, strict=True):
                if isinstance(array, numpy.ndarray) and not _shares(array, tensor):
                    if array.flags.writeable:
                        array[...] = tensor.numpy()
                    else:
                        param.grad = tensor.numpy()
        if chainer.is_debug():
            check_finite([param.grad for param in self.params])


def _shares(array, tensor):
    return array.size == 0 or array.__array_interface__["data"][0] == tensor.data_ptr()


def _wire(comm, dtype):
    if dtype not in _TORCH or dtype.kind != "f":
        raise ValueError(f"dtype must be float16, float32 or float64, got a gradient of {dtype}")
    return _TORCH[comm._grad_dtype(dtype)]


def broadcast(group: Group, model: Link) -> None:
    """Copies the parameters of rank 0 to all processes, in their own dtypes."""
    pairs = [(name, param) for name, param in sorted(model.namedparams()) if param.array is not None]
    if group.size == 1 or not pairs:
        return
    names = [name for name, _ in pairs]
    arrays = [param.array for _, param in pairs]
    tensors = [to_tensor(array) for array in arrays]
    forms = [(name, a.shape, str(a.dtype)) for name, a in zip(names, arrays, strict=True)]
    who = "bcast_data"
    words = lambda: f"the parameters {_listed([f'{n}{shape} {dtype}' for n, shape, dtype in forms])}"  # noqa: E731
    group.expect_same(who, words, *_numbers(forms))
    kinds: dict[Any, list[torch.Tensor]] = {}
    for tensor in tensors:
        kinds.setdefault((tensor.dtype, tensor.device), []).append(tensor)
    for same in kinds.values():
        flat = torch.cat([tensor.reshape(-1) for tensor in same])
        group.broadcast(flat, 0)
        if group.rank != 0:
            for tensor, part in zip(same, flat.split([t.numel() for t in same]), strict=True):
                tensor.copy_(part.view(tensor.shape))
    for param, array, tensor in zip((p for _, p in pairs), arrays, tensors, strict=True):
        if isinstance(array, numpy.ndarray) and not _shares(array, tensor):
            param.array = tensor.numpy()


def _numbers(forms):
    import zlib

    return len(forms), zlib.crc32(repr(forms).encode())


def mean_of_arrays(group: Group, arrays: list[Any], who: str) -> None:
    """Replaces arrays by their means over the processes, in their own dtypes; ints are rounded towards zero."""
    if group.size == 1:
        return
    tensors = [to_tensor(array) for array in arrays]
    reduce_tensors(group, tensors, [t.dtype for t in tensors], 1.0, who).finish()
    for array, tensor in zip(arrays, tensors, strict=True):
        if tensor.dtype.is_floating_point:
            tensor.mul_(1.0 / group.size)
        else:
            tensor.copy_(tensor / group.size)
        if isinstance(array, numpy.ndarray) and not _shares(array, tensor):
            array[...] = tensor.numpy()
