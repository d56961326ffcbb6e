"""Collectives on NDArrays.

In Horovod, calls meet by their names. Here they meet in their order, which must be the same in all processes; calls
whose names, shapes or dtypes differ raise an error in all of them.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import torch

from compatgrad.core.distributed import Group, Packet
from compatgrad.core.distributed.reducing import Buckets
from compatgrad.horovod.common import basics
from compatgrad.horovod.common import process_sets as _sets
from compatgrad.horovod.common.basics import Adasum as Adasum
from compatgrad.horovod.common.basics import Average, Max, Min, Product, Sum
from compatgrad.horovod.common.basics import ccl_built as ccl_built
from compatgrad.horovod.common.basics import cross_rank as cross_rank
from compatgrad.horovod.common.basics import cross_size as cross_size
from compatgrad.horovod.common.basics import cuda_built as cuda_built
from compatgrad.horovod.common.basics import ddl_built as ddl_built
from compatgrad.horovod.common.basics import gloo_built as gloo_built
from compatgrad.horovod.common.basics import gloo_enabled as gloo_enabled
from compatgrad.horovod.common.basics import is_initialized as is_initialized
from compatgrad.horovod.common.basics import local_rank as local_rank
from compatgrad.horovod.common.basics import local_size as local_size
from compatgrad.horovod.common.basics import mpi_built as mpi_built
from compatgrad.horovod.common.basics import mpi_enabled as mpi_enabled
from compatgrad.horovod.common.basics import mpi_threads_supported as mpi_threads_supported
from compatgrad.horovod.common.basics import nccl_built as nccl_built
from compatgrad.horovod.common.basics import rank as rank
from compatgrad.horovod.common.basics import rocm_built as rocm_built
from compatgrad.horovod.common.basics import size as size
from compatgrad.horovod.common.process_sets import ProcessSet, global_process_set
from compatgrad.horovod.common.process_sets import add_process_set as add_process_set
from compatgrad.horovod.common.process_sets import remove_process_set as remove_process_set
from compatgrad.mxnet import autograd
from compatgrad.mxnet import ndarray as nd
from compatgrad.mxnet.base import MXNetError
from compatgrad.mxnet.numpy import ndarray as _np_ndarray

_OPERATIONS = {Average: "sum", Sum: "sum", Min: "min", Max: "max", Product: "product"}
_DTYPES = (torch.float32, torch.float64, torch.float16, torch.int32, torch.int64, torch.int8, torch.uint8, torch.bool)


def init(comm: Sequence[int] | None = None, process_sets: Sequence[ProcessSet] | None = None) -> None:
    """Connects the processes that a launcher started. All must call it; a second call does nothing.

    Args:
        comm: ranks of the processes that take part; None for all.
        process_sets: sets of processes that can be used from now on.

    Raises:
        ValueError: `comm` is no list of ranks, this process is not in it, or a set occurs twice.

    Example:
        >>> hvd.init()
        >>> hvd.rank(), hvd.size()
        (0, 1)

    Source: `horovod.mxnet.init` of Horovod 0.28.1.
    """
    if basics._start(comm):
        _sets._begin(process_sets)


def shutdown() -> None:
    """Ends Horovod in this process; `init` may follow.

    Example:
        >>> hvd.init()
        >>> hvd.shutdown()
        >>> hvd.is_initialized()
        False

    Source: `horovod.mxnet.shutdown` of Horovod 0.28.1.
    """
    basics._stop()
    _sets._end()


def start_timeline(file_path: str, mark_cycles: bool = False) -> NoReturn:
    """Raises an error: no timeline is recorded.

    Args:
        file_path: not used.
        mark_cycles: not used.

    Returns:
        Nothing.

    Raises:
        MXNetError: always.

    Example:
        >>> try:
        ...     hvd.start_timeline("timeline.json")
        ... except mx.MXNetError as error:
        ...     print(error)
        hvd.start_timeline: timelines are not recorded; use `python -m compatgrad profile`, or torch.profiler

    Source: `horovod.mxnet.start_timeline` of Horovod 0.28.1.
    """
    raise MXNetError(
        "hvd.start_timeline: timelines are not recorded; use `python -m compatgrad profile`, or torch.profiler"
    )


def stop_timeline() -> None:
    """Does nothing: no timeline is recorded.

    Example:
        >>> hvd.stop_timeline()

    Source: `horovod.mxnet.stop_timeline` of Horovod 0.28.1.
    """


# ---- what all collectives do -----------------------------------------------------------------------------------------


def _meet(
    who: str,
    name: Any,
    members: Group,
    arrays: Sequence[Any],
    number: int = 0,
    first_differs: bool = False,
    wrong: str = "",
    how: str = "",
) -> list[int]:
    """Makes sure that all processes call the same with arrays of the same form. Returns each process's `number`.

    first_differs: the first dimensions may differ. wrong: why this process cannot take part. how: the operation and its
    factors, which must be the same.
    """
    forms = []
    for array in arrays:
        if not isinstance(array, nd.NDArray):
            wrong = wrong or f"expected an NDArray, got {type(array).__name__}"
            continue
        if array.tensor.dtype not in _DTYPES:
            wrong = wrong or f"arrays of {array.tensor.dtype} cannot be sent"
        shape = tuple(array.shape)
        forms.append((shape[1:] if first_differs and shape else shape, len(shape), str(array.tensor.dtype)))
    code = zlib.crc32(repr((None if name is None else str(name), forms, how)).encode())
    rows = members.agree(f"hvd.{who}", code, number, bool(wrong))
    if any(row[2] or row[0] != rows[0][0] for row in rows):
        mine = wrong or f"{'no name' if name is None else f'name {name!r}'}, {[(f[0], f[2]) for f in forms[:8]]}{how}"
        texts = members.all_gather_objects(mine)
        listed = "; ".join(f"rank {members.ranks[i]}: {text}" for i, text in enumerate(texts))
        what = "a process cannot take part" if any(row[2] for row in rows) else "the processes do not pass the same"
        raise MXNetError(f"hvd.{who}: {what}: {listed[:2000]}")
    return [row[1] for row in rows]


def _as(array: Any, tensor: torch.Tensor) -> Any:
    """An array of the kind and on the context of `array`."""
    result = nd.NDArray(tensor)
    result._ctx = array._ctx
    return result.as_np_ndarray() if isinstance(array, _np_ndarray) else result


def _operation(op: int | None, average: bool | None) -> int:
    if op is not None and average is not None:
        raise ValueError("The op parameter supersedes average. Please provide only one of them.")
    if op is None:
        return Sum if average is False else Average
    assert op != Adasum, "Adasum is not available for MXNet"
    if op not in _OPERATIONS:
        raise ValueError(f"hvd.allreduce: op must be hvd.Average, Sum, Min, Max or Product, got {op!r}")
    return op


def _how(op: int, before: float, after: float) -> str:
    names = ("Average", "Sum", "Adasum", "Min", "Max", "Product")
    return f", op {names[op]}, factors {before:g} and {after:g}"


def _scaled(tensor: torch.Tensor, factor: float, divisor: int = 1) -> torch.Tensor:
    """The tensor times a factor, in its dtype: integers are computed in float64, float16 in float32."""
    if factor == 1 and divisor == 1:
        return tensor
    if not tensor.is_floating_point():
        return (tensor.double() * factor / divisor).to(tensor.dtype)
    if tensor.dtype == torch.float16:
        return (tensor.float() * (factor / divisor)).half()
    return tensor * (factor / divisor)


def _reduced(
    members: Group, tensors: Sequence[torch.Tensor], op: int, before: float, after: float
) -> list[torch.Tensor]:
    """New tensors with the results; sums travel together, in few messages."""
    new = [_scaled(t, before).clone(memory_format=torch.contiguous_format) for t in tensors]
    if members.size > 1:
        if op in (Average, Sum):
            sums = Buckets(members, 1.0, "hvd.allreduce")
            sums.add(new, [t.dtype for t in new])
            sums.finish()
        else:
            for tensor in new:
                members.all_reduce(tensor, _OPERATIONS[op])
    return [_scaled(t, after, members.size if op == Average else 1) for t in new]


def _all_reduce(
    who: str,
    tensors: Sequence[Any],
    average: Any,
    name: Any,
    before: float,
    after: float,
    process_set: ProcessSet,
    op: Any,
) -> list[torch.Tensor]:
    members = process_set._members(who)
    op = _operation(op, average)
    _meet(who, name, members, tensors, how=_how(op, before, after))
    with autograd.pause():
        return _reduced(members, [t.tensor.detach() for t in tensors], op, before, after)


_REDUCE = """
    Args:
        {tensor}: {what}.
        average: deprecated: True for hvd.Average, False for hvd.Sum.
        name: a name, which must be the same in all processes.
        priority: has no effect.
        prescale_factor: factor before the operation.
        postscale_factor: factor after it.
        process_set: the processes that take part.
        op: hvd.Average (None), Sum, Min, Max or Product.

    Returns:
        {returns}.

    Raises:
        ValueError: `op` and `average` are both given, or this process is not in the set.
        MXNetError: the processes pass other names, shapes or dtypes.
        DistributedError: a process does not come.

    Example:
        >>> hvd.init()
        >>> {example}

    Source: `horovod.mxnet.{name}` of Horovod 0.28.1.
    """


def _documented(first: str, template: str, **words: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def document(function: Callable[..., Any]) -> Callable[..., Any]:
        function.__doc__ = first + "\n" + template.format(name=function.__name__, **words)
        return function

    return document


@_documented(
    "The mean, or another combination, of the arrays of all processes.",
    _REDUCE, tensor="tensor", what="an NDArray", returns="A new array",
    example="hvd.allreduce(nd.array([1.0, 2.0]), op=hvd.Sum).asnumpy()\n        array([1., 2.], dtype=float32)",
)  # fmt: skip
def allreduce(
    tensor: Any, average: bool | None = None, name: str | None = None, priority: int = 0, prescale_factor: float = 1.0,
    postscale_factor: float = 1.0, process_set: ProcessSet = global_process_set, op: int | None = None,
) -> Any:  # fmt: skip
    results = _all_reduce("allreduce", [tensor], average, name, prescale_factor, postscale_factor, process_set, op)
    return _as(tensor, results[0])


@_documented(
    "`allreduce` in place.",
    _REDUCE, tensor="tensor", what="an NDArray, which gets the result", returns="`tensor`",
    example="hvd.allreduce_(nd.array([1.0, 2.0])).asnumpy()\n        array([1., 2.], dtype=float32)",
)  # fmt: skip
def allreduce_(
    tensor: Any, average: bool | None = None, name: str | None = None, priority: int = 0, prescale_factor: float = 1.0,
    postscale_factor: float = 1.0, process_set: ProcessSet = global_process_set, op: int | None = None,
) -> Any:  # fmt: skip
    results = _all_reduce("allreduce_", [tensor], average, name, prescale_factor, postscale_factor, process_set, op)
    _write(tensor, results[0])
    return tensor


def _write(array: Any, tensor: torch.Tensor) -> None:
    with autograd.pause():
        array[:] = _as(array, tensor)


@_documented(
    "`allreduce` of several arrays, which travel together.",
    _REDUCE, tensor="tensors", what="a list of NDArrays", returns="A list of new arrays",
    example="[int(y.asscalar()) for y in hvd.grouped_allreduce([nd.ones(1), nd.zeros(1)])]\n        [1, 0]",
)  # fmt: skip
def grouped_allreduce(
    tensors: Sequence[Any], average: bool | None = None, name: str | None = None, priority: int = 0,
    prescale_factor: float = 1.0, postscale_factor: float = 1.0, process_set: ProcessSet = global_process_set,
    op: int | None = None,
) -> Any:  # fmt: skip
    if not tensors:
        return tensors
    results = _all_reduce(
        "grouped_allreduce", tensors, average, name, prescale_factor, postscale_factor, process_set, op
    )
    return [_as(x, y) for x, y in zip(tensors, results, strict=True)]


@_documented(
    "`grouped_allreduce` in place.",
    _REDUCE, tensor="tensors", what="a list of NDArrays, which get the results", returns="`tensors`",
    example="[int(y.asscalar()) for y in hvd.grouped_allreduce_([nd.ones(1), nd.zeros(1)])]\n        [1, 0]",
)  # fmt: skip
def grouped_allreduce_(
    tensors: Sequence[Any], average: bool | None = None, name: str | None = None, priority: int = 0,
    prescale_factor: float = 1.0, postscale_factor: float = 1.0, process_set: ProcessSet = global_process_set,
    op: int | None = None,
) -> Any:  # fmt: skip
    if not tensors:
        return tensors
    results = _all_reduce(
        "grouped_allreduce_", tensors, average, name, prescale_factor, postscale_factor, process_set, op
    )
    for x, y in zip(tensors, results, strict=True):
        _write(x, y)
    return tensors


_OTHER = """
    Args:
        {arguments}
        name: a name, which must be the same in all processes.
        priority: has no effect.
        process_set: the processes that take part.{more}

    Returns:
        {returns}.

    Raises:
        ValueError: this process is not in the set{values}.
        MXNetError: the processes pass other names, shapes or dtypes.
        DistributedError: a process does not come.

    Example:
        >>> hvd.init()
        >>> {example}

    Source: `horovod.mxnet.{name}` of Horovod 0.28.1.
    """


def _gathered(who: str, tensors: Sequence[Any], name: Any, process_set: ProcessSet) -> list[Any]:
    assert all(isinstance(t, nd.NDArray) for t in tensors), f"hvd.{who}: expected NDArrays"
    members = process_set._members(who)
    _meet(who, name, members, tensors, first_differs=True)
    with autograd.pause():
        packets = members.all_gather_packets(f"hvd.{who}", Packet(None, [t.tensor.detach() for t in tensors]))
        parts = [[packet.tensors[i] for packet in packets] for i in range(len(tensors))]
        joined = [torch.cat([p.reshape(p.shape or (1,)) for p in part]) for part in parts]
        return [_as(t, y.to(t.tensor.device)) for t, y in zip(tensors, joined, strict=True)]


@_documented(
    "The arrays of all processes, joined along axis 0, along which their lengths may differ.",
    _OTHER, arguments="tensor: an NDArray.", more="", returns="A new array", values="",
    example="hvd.allgather(nd.array([[1.0, 2.0]])).shape\n        (1, 2)",
)  # fmt: skip
def allgather(
    tensor: Any, name: str | None = None, priority: int = 0, process_set: ProcessSet = global_process_set
) -> Any:
    return _gathered("allgather", [tensor], name, process_set)[0]


@_documented(
    "`allgather` of several arrays.",
    _OTHER, arguments="tensors: a list of NDArrays.", more="", returns="A list of new arrays", values="",
    example="len(hvd.grouped_allgather([nd.ones(2), nd.ones(3)]))\n        2",
)  # fmt: skip
def grouped_allgather(
    tensors: Sequence[Any], name: str | None = None, priority: int = 0, process_set: ProcessSet = global_process_set
) -> list[Any]:
    return _gathered("grouped_allgather", tensors, name, process_set)


def _sent(who: str, tensor: Any, root_rank: int, name: Any, process_set: ProcessSet) -> torch.Tensor:
    members = process_set._members(who)
    wrong = "" if root_rank in (process_set.ranks or ()) else f"root_rank {root_rank} is not in {process_set.ranks}"
    roots = _meet(who, name, members, [tensor], int(root_rank), wrong=wrong)
    if len(set(roots)) > 1:
        raise MXNetError(f"hvd.{who}: the processes name different root ranks: {roots}")
    with autograd.pause():
        value = tensor.tensor.detach().clone(memory_format=torch.contiguous_format)
        members.broadcast(value, (process_set.ranks or []).index(root_rank))
    return value


_SENT = dict(more="", values="", returns="An array with the values of process `root_rank`")


@_documented(
    "The array of one process.",
    _OTHER,
    arguments="tensor: an NDArray, of the same form in all processes.\n        root_rank: the process whose values are "
    "sent.",
    example="hvd.broadcast(nd.array([1.0]), root_rank=0).asnumpy()\n        array([1.], dtype=float32)", **_SENT,
)  # fmt: skip
def broadcast(
    tensor: Any, root_rank: int, name: str | None = None, priority: int = 0,
    process_set: ProcessSet = global_process_set,
) -> Any:  # fmt: skip
    return _as(tensor, _sent("broadcast", tensor, root_rank, name, process_set))


@_documented(
    "`broadcast` in place.",
    _OTHER,
    arguments="tensor: an NDArray, which gets the values.\n        root_rank: the process whose values are sent.",
    example="hvd.broadcast_(nd.array([1.0]), root_rank=0).asnumpy()\n        array([1.], dtype=float32)", **_SENT,
)  # fmt: skip
def broadcast_(
    tensor: Any, root_rank: int, name: str | None = None, priority: int = 0,
    process_set: ProcessSet = global_process_set,
) -> Any:  # fmt: skip
    value = _sent("broadcast_", tensor, root_rank, name, process_set)
    if process_set._members("broadcast_").size > 1:
        _write(tensor, value)
    return tensor


@_documented(
    "Sends slices along axis 0 to all processes, and joins what they sent to this one.",
    _OTHER,
    arguments="tensor: an NDArray.\n        splits: how many rows each process gets, by rank; None: all the same.",
    more="", values="", returns="The joined array; with `splits`, a pair of it and the numbers of rows by process",
    example="hvd.alltoall(nd.array([1.0, 2.0])).asnumpy()\n        array([1., 2.], dtype=float32)",
)  # fmt: skip
def alltoall(
    tensor: Any, splits: Any = None, name: str | None = None, priority: int = 0,
    process_set: ProcessSet = global_process_set,
) -> Any:  # fmt: skip
    members = process_set._members("alltoall")
    rows = tensor.shape[0] if tensor.shape else 0
    wrong, counts = "", [rows // members.size] * members.size
    if splits is None:
        if rows % members.size or not tensor.shape:
            wrong = f"without splits, the length {rows} must be a multiple of the {members.size} processes"
    else:
        given = splits if isinstance(splits, nd.NDArray) else nd.array(splits, dtype="int32")
        counts = [int(n) for n in given.asnumpy().reshape(-1)]
        if given.tensor.dtype != torch.int32:
            wrong = f"splits must be int32, got {given.tensor.dtype}"
        elif len(counts) != members.size or min(counts) < 0 or sum(counts) > rows:
            wrong = f"splits {counts} do not fit {members.size} processes and {rows} rows"
    _meet("alltoall", name, members, [tensor], first_differs=True, wrong=wrong)
    with autograd.pause():
        parts = tensor.tensor.detach()[: sum(counts)].split(counts)
        packets = members.all_to_all_packets("hvd.alltoall", [Packet(None, [part]) for part in parts])
        received = [packet.tensors[0].to(tensor.tensor.device) for packet in packets]
    joined = _as(tensor, torch.cat(received))
    if splits is None:
        return joined
    return joined, nd.array([len(part) for part in received], dtype="int32")


def _scattered(
    who: str, tensors: Sequence[Any], op: int, name: Any, process_set: ProcessSet, before: float, after: float
) -> list[Any]:
    assert all(isinstance(t, nd.NDArray) for t in tensors), f"hvd.{who}: expected NDArrays"
    assert op in (Average, Sum), f"hvd.{who}: op must be hvd.Average or hvd.Sum"
    if any(t.shape == () for t in tensors):
        raise ValueError(f"hvd.{who}: scalars cannot be scattered")
    members = process_set._members(who)
    _meet(who, name, members, tensors, how=_how(op, before, after))
    with autograd.pause():
        sums = _reduced(members, [t.tensor.detach() for t in tensors], op, before, after)
        return [_as(t, y.tensor_split(members.size)[members.rank].clone()) for t, y in zip(tensors, sums, strict=True)]


_SCATTER = dict(
    more="\n        prescale_factor: factor before the operation.\n        postscale_factor: factor after it.",
    values=", or an array has no axis",
)


@_documented(
    "`allreduce`, of which each process keeps its part along axis 0.",
    _OTHER, arguments="tensor: an NDArray.\n        op: hvd.Average or Sum.", returns="A new array",
    example="hvd.reducescatter(nd.array([1.0, 2.0])).asnumpy()\n        array([1., 2.], dtype=float32)", **_SCATTER,
)  # fmt: skip
def reducescatter(
    tensor: Any, op: int = Average, name: str | None = None, priority: int = 0,
    process_set: ProcessSet = global_process_set, prescale_factor: float = 1.0, postscale_factor: float = 1.0,
) -> Any:  # fmt: skip
    return _scattered("reducescatter", [tensor], op, name, process_set, prescale_factor, postscale_factor)[0]


@_documented(
    "`reducescatter` of several arrays.",
    _OTHER, arguments="tensors: a list of NDArrays.\n        op: hvd.Average or Sum.", returns="A list of new arrays",
    example="len(hvd.grouped_reducescatter([nd.ones(2), nd.ones(3)]))\n        2", **_SCATTER,
)  # fmt: skip
def grouped_reducescatter(
    tensors: Sequence[Any], op: int = Average, name: str | None = None, priority: int = 0,
    process_set: ProcessSet = global_process_set, prescale_factor: float = 1.0, postscale_factor: float = 1.0,
) -> list[Any]:  # fmt: skip
    return _scattered("grouped_reducescatter", tensors, op, name, process_set, prescale_factor, postscale_factor)
