"""Optimizers and Trainers that take the mean of the gradients of all processes."""

from __future__ import annotations

import types
import warnings
from collections.abc import Mapping
from typing import Any

from compatgrad.horovod.common import basics
from compatgrad.horovod.common.process_sets import ProcessSet, global_process_set
from compatgrad.horovod.mxnet.compression import Compression
from compatgrad.horovod.mxnet.mpi_ops import broadcast_, grouped_allreduce_
from compatgrad.mxnet.gluon import Trainer
from compatgrad.mxnet.gluon.parameter import DeferredInitializationError, Parameter, ParameterDict
from compatgrad.mxnet.optimizer import Optimizer


def _scales(who: Any, gradient_predivide_factor: float, process_set: ProcessSet) -> float:
    """The factor for the optimizer's `rescale_grad`. Where NCCL does not average, Horovod adds gradients up, and
    divides in the optimizer."""
    members = process_set.size()
    if members is None:
        raise ValueError("Horovod has not been initialized; use hvd.init().")
    averages = basics.nccl_built() >= 21000
    who._process_set, who._average = process_set, averages
    who._before, who._after = 1.0 / gradient_predivide_factor, gradient_predivide_factor if averages else 1.0
    return 1.0 if averages else gradient_predivide_factor / members


def _exchange(who: Any, gradients: list[Any], name: str) -> None:
    if gradients:
        grouped_allreduce_(
            gradients, average=who._average, name=name, prescale_factor=who._before, postscale_factor=who._after,
            process_set=who._process_set,
        )  # fmt: skip


def _takes_part(process_set: ProcessSet) -> bool:
    return bool(process_set.included()) and process_set.size() != 1


class DistributedOptimizer(Optimizer):
    """An optimizer that uses the mean of the gradients of all processes, for `Module` and for loops that call
    `update`. Other attributes are those of the given optimizer.

    Args:
        optimizer: the Optimizer.
        gradient_predivide_factor: gradients are divided by it before they are added up; the result does not change.
        num_groups: has no effect: gradients travel in few messages.
        process_set: the processes that take part.

    Raises:
        ValueError: `hvd.init` was not called.
        MXNetError: in `update`, the processes update other parameters.

    Example:
        >>> hvd.init()
        >>> optimizer = hvd.DistributedOptimizer(mx.optimizer.SGD(learning_rate=0.5))
        >>> w = nd.array([1.0])
        >>> optimizer.update(0, w, nd.array([2.0]), optimizer.create_state(0, w))
        >>> w.asnumpy()
        array([0.], dtype=float32)

    Source: `horovod.mxnet.DistributedOptimizer` of Horovod 0.28.1.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        gradient_predivide_factor: float = 1.0,
        num_groups: int = 0,
        process_set: ProcessSet = global_process_set,
    ) -> None:
        self._optimizer = optimizer
        optimizer.rescale_grad *= _scales(self, gradient_predivide_factor, process_set)

    def __getattr__(self, item: str) -> Any:
        if item == "_optimizer":  # before __init__, as in copying
            raise AttributeError(item)
        return getattr(self._optimizer, item)

    def create_state(self, index: Any, weight: Any) -> Any:
        return self._optimizer.create_state(index, weight)

    def create_state_multi_precision(self, index: Any, weight: Any) -> Any:
        return self._optimizer.create_state_multi_precision(index, weight)

    def _do_allreduce(self, index: Any, grad: Any) -> None:
        if _takes_part(self._process_set):
            several = isinstance(index, (tuple, list))
            _exchange(self, list(grad) if several else [grad], ":".join(map(str, index)) if several else str(index))

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        self._do_allreduce(index, grad)
        self._optimizer.update(index, weight, grad, state)

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        self._do_allreduce(index, grad)
        self._optimizer.update_multi_precision(index, weight, grad, state)

    def update_all(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Called by Updater for all parameters of a step."""
        self._do_allreduce(list(index), list(grad))
        self._optimizer.update_all(index, weight, grad, state)

    def set_learning_rate(self, lr: float) -> None:
        self._optimizer.set_learning_rate(lr)

    def set_lr_mult(self, args_lr_mult: dict[Any, float]) -> None:
        self._optimizer.set_lr_mult(args_lr_mult)

    def set_wd_mult(self, args_wd_mult: dict[Any, float]) -> None:
        self._optimizer.set_wd_mult(args_wd_mult)


class DistributedTrainer(Trainer):
    """A `gluon.Trainer` that uses the mean of the gradients of all processes: `step` takes the number of examples of
    this process.

    Args:
        params: the parameters, a ParameterDict, a dict or a list.
        optimizer: an Optimizer, or the name of one.
        optimizer_params: keyword arguments of a named optimizer.
        compression: what gradients are compressed by, such as `hvd.Compression.fp16`.
        gradient_predivide_factor: gradients are divided by it before they are added up; the result does not change.
        prefix: a name that tells several Trainers apart.
        num_groups: has no effect: gradients travel in few messages.
        process_set: the processes that take part.

    Raises:
        ValueError: `hvd.init` was not called, or what Trainer refuses.
        MXNetError: in `step`, the processes have other parameters.

    Example:
        >>> hvd.init()
        >>> net = gluon.nn.Dense(1, in_units=2, use_bias=False)
        >>> net.initialize(mx.init.One())
        >>> trainer = hvd.DistributedTrainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
        >>> with autograd.record():
        ...     loss = net(nd.array([[1, 2]])).sum()
        >>> loss.backward()
        >>> trainer.step(batch_size=1)
        >>> net.weight.data().asnumpy()
        array([[0.5, 0. ]], dtype=float32)

    Source: `horovod.mxnet.DistributedTrainer` of Horovod 0.28.1.
    """

    def __init__(
        self,
        params: Any,
        optimizer: str | Optimizer,
        optimizer_params: dict[str, Any] | None = None,
        compression: Any = Compression.none,
        gradient_predivide_factor: float = 1.0,
        prefix: str | None = None,
        num_groups: int = 0,
        process_set: ProcessSet = global_process_set,
    ) -> None:
        assert prefix is None or isinstance(prefix, str), "DistributedTrainer: prefix must be a str"
        if isinstance(optimizer, DistributedOptimizer):
            optimizer = optimizer._optimizer
            warnings.warn(
                "DistributedTrainer does not take DistributedOptimizer as its optimizer. We have unwrapped it for you.",
                stacklevel=2,
            )
        if isinstance(params, (list, tuple)):
            params = sorted(params, key=lambda p: p.name) if all(isinstance(p, Parameter) for p in params) else params
        super().__init__(params, optimizer, optimizer_params=optimizer_params, kvstore=None)
        self._scale *= _scales(self, gradient_predivide_factor, process_set)
        self._compression, self._prefix = compression, prefix or ""

    def step(self, batch_size: int, ignore_stale_grad: bool = False) -> None:
        """Updates all parameters from the means of their gradients over the processes, divided by `batch_size`, the
        number of examples of this process. Otherwise as in Trainer."""
        self._rescale(batch_size)
        self._prepare()
        self._allreduce_grads()
        self._update(ignore_stale_grad)

    def _allreduce_grads(self) -> None:
        if not _takes_part(self._process_set):
            return
        gradients = [param.list_grad()[0] for param in self._params if param.grad_req != "null"]
        if self._compression is Compression.none:
            _exchange(self, gradients, self._prefix)
            return
        compressed = [self._compression.compress(gradient) for gradient in gradients]
        _exchange(self, [tensor for tensor, _ in compressed], self._prefix)
        for gradient, (tensor, context) in zip(gradients, compressed, strict=True):
            gradient[:] = self._compression.decompress(tensor, context)


def broadcast_parameters(params: Any, root_rank: int = 0, prefix: str | None = None) -> None:
    """Gives all processes the parameters of one. A Parameter whose shape is not known yet is sent when it is
    initialized.

    Args:
        params: a dict of NDArrays or Parameters, such as `Module.get_params()[0]`, or a ParameterDict.
        root_rank: the process whose parameters are sent.
        prefix: a name that tells several calls apart.

    Raises:
        ValueError: `params` is no dict, or `hvd.init` was not called.
        MXNetError: the processes have other parameters.

    Example:
        >>> hvd.init()
        >>> net = gluon.nn.Dense(1, in_units=2)
        >>> net.initialize()
        >>> hvd.broadcast_parameters(net.collect_params())

    Source: `horovod.mxnet.broadcast_parameters` of Horovod 0.28.1.
    """
    if basics.size() == 1:
        return
    assert prefix is None or isinstance(prefix, str), "broadcast_parameters: prefix must be a str"
    if not isinstance(params, (Mapping, ParameterDict)):
        raise ValueError(f"invalid params of type: {type(params)}")
    known = []
    for name, param in sorted(params.items()):
        full = (prefix or "") + str(name)
        try:
            known.append((full, param.data() if isinstance(param, Parameter) else param))
        except DeferredInitializationError:
            param._place = types.MethodType(_placed_and_sent(param._place, root_rank, full), param)
    for name, array in known:
        broadcast_(array, root_rank, name=name)


def _placed_and_sent(place: Any, root_rank: int, name: str) -> Any:
    """The method that a Parameter calls when its shape is known, followed by a broadcast."""

    def placed(self: Any, *args: Any, **kwargs: Any) -> None:
        place(*args, **kwargs)
        for array in self.list_data():
            broadcast_(array, root_rank, name=name)

    return placed
