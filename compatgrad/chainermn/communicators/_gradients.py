"""Parameters and gradients of a network over processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy
import torch

import compatgrad.chainer as chainer
from compatgrad.chainer._link_walk import all_params
from compatgrad.chainermn.communicators._tensors import to_tensor
from compatgrad.core.distributed.errors import DistributedError
from compatgrad.core.distributed.reducing import Buckets, announce, reduce_tensors

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
    """Replaces the gradients of a network by their means over the processes: `complete` sends those gradients that
    `put` has not sent, `finish` waits for the results.

    Args:
        comm: the communicator.
        model: the network.
        zero_fill: whether a gradient that is None counts as zeros. Otherwise it is skipped.
        order: names of parameters in the order in which their gradients are sent, the same in all processes; others
            follow by name.
        early: whether gradients are sent while functions of the pass may communicate, too. The messages then travel in
            the group's twin, because a process in which a gradient is missing sends later than the others.
    """

    def __init__(self, comm: Any, model: Link, zero_fill: bool, order: Sequence[str] = (), early: bool = False) -> None:
        self.comm = comm
        self.buckets = None
        self.alone = comm.size == 1 or comm._is_dummy
        named = [("", param) for param in all_params(model)] if self.alone else _ordered(model, order)
        kept = [(n, p) for n, p in named if p.tensor is not None and (zero_fill or p._grad_tensor is not None)]
        if not self.alone:  # a parameter that links share has several names; the first one counts
            every: dict[int, tuple[str, Any]] = {}
            for name, param in kept:
                every.setdefault(id(param), (name, param))
            kept = list(every.values())
        self.names = [name for name, _ in kept]
        self.params = [param for _, param in kept]
        if self.alone or not kept:
            return
        group, who = comm._group.twin() if early else comm._group, comm._name("multi_node_mean_grad")
        words = lambda: f"the gradients of {_listed(self.names)}"  # noqa: E731
        tensors = [param.tensor for param in self.params]
        dtypes = [_wire(comm, param.dtype) for param in self.params]
        announce(group, tensors, dtypes, who, self.names, words)
        # a communicator that divides in the gradients' own dtype does so after the sums have arrived
        self.buckets = Buckets(group, 1.0 if comm._divides_at_home else 1.0 / comm.size, who, words)
        self.sent: list[torch.Tensor | None] = [None] * len(kept)
        self.copied: dict[int, torch.Tensor] = {}  # the gradients of which `sent` has copies
        self.memory: set[int] = set()  # where the storages of the other gradients begin
        # behind the gradients travels a number: whether the pass of a process has failed
        self.failed = torch.zeros(1, dtype=tensors[-1].dtype, device=tensors[-1].device)
        forms = [(t.numel(), dtype, t.device) for t, dtype in zip(tensors, dtypes, strict=True)]
        self.buckets.plan([*forms, (1, *forms[-1][1:])])

    def put(self, i: int, gradient: torch.Tensor) -> None:
        """Sends the gradient of parameter i while the pass that has computed it goes on."""
        self._send(i, self._writable(i, gradient))

    def _writable(self, i, gradient):
        """The gradient, or a copy if some of its elements share memory with each other or with another gradient (as
        those of x and y in x + y do), so that the mean cannot be written there."""
        place = gradient.untyped_storage().data_ptr()
        shared = any(size > 1 and not stride for size, stride in zip(gradient.shape, gradient.stride(), strict=True))
        if shared or place in self.memory:
            self.copied[i] = gradient
            return gradient.clone(memory_format=torch.contiguous_format)
        if place:  # it is 0 for an empty array
            self.memory.add(place)
        return gradient

    def _send(self, i, tensor):
        self.sent[i] = tensor
        self.buckets.put(i, tensor)

    def complete(self) -> Means:
        """Sends the gradients that were not sent yet."""
        for param in self.params:
            if param._grad_tensor is None:
                param.grad = param.device.xp.zeros_like(param.array)
        if self.buckets is not None:
            for i, param in enumerate(self.params):
                sent = self.sent[i]
                if sent is None:
                    own = self._writable(i, param._grad_tensor)
                    if i in self.copied:
                        param._grad_tensor = own
                    self._send(i, to_tensor(param.grad))
                elif not _is(param.grad, self.copied.get(i, sent)):
                    raise RuntimeError(
                        f"the gradient of {self.names[i]} was replaced after it had been sent to the other processes: "
                        "replace gradients after backward, and not in a hook of a function"
                    )
                elif i in self.copied:
                    param._grad_tensor = sent
            self.arrays = [param.grad for param in self.params]
            self.buckets.put(len(self.params), self.failed)
        return self

    def abandon(self) -> None:
        """Tells the other processes that the pass has failed here, without waiting for them. Each process sends as many
        messages as it would have sent, so that later calls of all processes still meet."""
        if self.buckets is None:
            return
        for i, sent in enumerate(self.sent):
            if sent is None:
                self._send(i, torch.zeros_like(self.params[i].tensor))
        self.buckets.put(len(self.params), torch.ones_like(self.failed))

    def finish(self) -> None:
        """Waits for the means, and writes them into the gradients' arrays."""
        if self.buckets is not None:
            buckets, self.buckets = self.buckets, None
            buckets.finish()
            if self.failed.item():
                raise DistributedError(
                    f"{self.comm._name('multi_node_mean_grad')}: the backward pass of another process ended with an "
                    "exception, so that there is no mean of the gradients"
                )
            if self.comm._divides_at_home:
                torch._foreach_mul_(self.sent, 1.0 / self.comm.size)
            for param, array, tensor in zip(self.params, self.arrays, self.sent, strict=True):
                if isinstance(array, numpy.ndarray) and not _shares(array, tensor):
                    if array.flags.writeable:
                        array[...] = tensor.numpy()
                    else:
                        param.grad = tensor.numpy()
        if chainer.is_debug():
            check_finite([param.grad for param in self.params])


def _ordered(model, order):
    """Pairs of names and parameters: first those that `order` names, then the others by name."""
    named = dict(sorted(model.namedparams()))
    first = [(name, named.pop(name)) for name in order if name in named]
    return first + list(named.items())


def _is(array, tensor):
    """Whether a gradient's array is still the tensor that was sent."""
    return _shares(array, tensor) if isinstance(array, numpy.ndarray) else array.data.ptr == tensor.data_ptr()


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
