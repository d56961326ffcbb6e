"""BaseModule: `fit`, `score`, `predict` and all else that modules share."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from compatgrad.core.files import naming

from .. import metric as metrics
from .. import ndarray as nd
from .._checkpoint import BatchEndParam, collected_params, separated_params
from ..base import _as_list
from ..initializer import Uniform
from ..io import DataBatch, DataDesc, DataIter

__all__ = ["BaseModule"]

_PARAMETER_ENDINGS = ("_weight", "_bias", "_gamma", "_beta")


def _check_input_names(symbol: Any, names: list[str], typename: str, throw: bool) -> None:
    """ValueError (a warning unless `throw`) for names that are no arguments of the symbol."""
    known = symbol.list_arguments()
    for name in names:
        if name in known:
            continue
        likely = "\n\t".join(k for k in known if not k.endswith(_PARAMETER_ENDINGS))
        _complain(
            f"You created Module with Module(..., {typename}_names={names}) but input with name '{name}' is not found "
            f"in symbol.list_arguments(). Did you mean one of:\n\t{likely}",
            throw,
        )


def _check_names_match(names: list[str], shapes: list[Any], kind: str, throw: bool) -> None:
    if sorted(names) != sorted(desc[0] for desc in shapes):
        _complain(
            f"Data provided by {kind}_shapes don't match names specified by {kind}_names ({shapes} vs. {names})", throw
        )


def _complain(message: str, throw: bool) -> None:
    if throw:
        raise ValueError(message)
    warnings.warn(message, stacklevel=4)


def _descriptions(shapes: Any) -> list[DataDesc]:
    return [x if isinstance(x, DataDesc) else DataDesc(*x) for x in shapes]


def _parse_data_desc(data_names: Any, label_names: Any, data_shapes: Any, label_shapes: Any) -> tuple[Any, Any]:
    """The shapes as lists of DataDesc; ValueError if the data's names differ, a warning if the labels' differ."""
    data_shapes = _descriptions(data_shapes)
    _check_names_match(data_names, data_shapes, "data", True)
    if label_shapes is not None:
        label_shapes = _descriptions(label_shapes)
    _check_names_match(label_names, label_shapes or [], "label", False)
    return data_shapes, label_shapes


def _call_all(callbacks: Any, *args: Any) -> None:
    for callback in _as_list(callbacks):
        callback(*args)


def _without_padding(outputs: list[Any], pad: int | None) -> list[Any]:
    return [y[0 : y.shape[0] - (pad or 0)] for y in outputs]


#: The call that brings a module into each of its states.
_BY = {
    "binded": "bind(data_shapes=...)",
    "params_initialized": "init_params()",
    "optimizer_initialized": "init_optimizer()",
    "inputs_need_grad": "bind(..., inputs_need_grad=True)",
}


def _abstract(name: str, doc: str) -> Any:
    """Makes a property that raises NotImplementedError, for subclasses to define."""

    def get(self: BaseModule) -> Any:
        raise self._undefined(name)

    return property(get, doc=doc)


class BaseModule:
    """Base class of modules: a computation with parameters, which is bound, then initialized, then gets an optimizer.

    A subclass defines names and shapes, `bind`, `init_params`, `init_optimizer`, `forward`, `backward`, `update`,
    `get_outputs`, `get_input_grads`, `get_params`, `update_metric` and `install_monitor`; the rest follows from them.

    Args:
        logger: what logs, with the methods of the module `logging`.

    Raises:
        NotImplementedError: the subclass does not define what is called.
        AssertionError: the module is not in the state that a method needs; the message names the call that is missing.

    Example:
        >>> isinstance(mx.mod.Module(mx.sym.var("data") * 2, label_names=None), mx.mod.BaseModule)
        True

    Source: `mxnet.module.BaseModule` of MXNet 1.9.1.
    """

    def __init__(self, logger: Any = logging) -> None:
        self.logger = logger
        self.binded = False
        self.for_training = False
        self.inputs_need_grad = False
        self.params_initialized = False
        self.optimizer_initialized = False
        self._symbol: Any = None
        self._total_exec_bytes = 0

    def _need(self, *states: str) -> None:
        """AssertionError, which names the call that is missing, if the module is not in all `states`."""
        for state in states:
            if not getattr(self, state):
                raise AssertionError(f"{type(self).__name__}: call {_BY[state]} before this")

    # ---- training and prediction ----

    def forward_backward(self, data_batch: Any) -> None:
        """`forward` in training mode, then `backward`."""
        self.forward(data_batch, is_train=True)
        self.backward()

    def _update_metric_of(self, eval_metric: Any, batch: Any) -> None:
        if isinstance(batch, list):  # a batch for each context
            self.update_metric(eval_metric, [part.label for part in batch], pre_sliced=True)
        else:
            self.update_metric(eval_metric, batch.label)

    def score(
        self,
        eval_data: Any,
        eval_metric: Any,
        num_batch: int | None = None,
        batch_end_callback: Any = None,
        score_end_callback: Any = None,
        reset: bool = True,
        epoch: int = 0,
        sparse_row_id_fn: Any = None,
    ) -> list[tuple[str, float]]:
        """Pairs of name and value of a metric (an EvalMetric, or what metric.create takes) over `eval_data`.

        num_batch: how many batches at most. The callbacks get a BatchEndParam.
        """
        self._need("binded", "params_initialized")
        if reset:
            eval_data.reset()
        if not isinstance(eval_metric, metrics.EvalMetric):
            eval_metric = metrics.create(eval_metric)
        eval_metric.reset()
        actual_num_batch = 0
        for nbatch, eval_batch in enumerate(eval_data):
            if nbatch == num_batch:
                break
            self.prepare(eval_batch, sparse_row_id_fn=sparse_row_id_fn)
            self.forward(eval_batch, is_train=False)
            self._update_metric_of(eval_metric, eval_batch)
            if batch_end_callback is not None:
                _call_all(batch_end_callback, BatchEndParam(epoch, nbatch, eval_metric, locals()))
            actual_num_batch += 1
        if score_end_callback:
            _call_all(score_end_callback, BatchEndParam(epoch, actual_num_batch, eval_metric, locals()))
        return eval_metric.get_name_value()

    def iter_predict(
        self, eval_data: Any, num_batch: int | None = None, reset: bool = True, sparse_row_id_fn: Any = None
    ) -> Iterator[tuple[list[Any], int, Any]]:
        """For each batch the outputs without padding, its number, and the batch."""
        self._need("binded", "params_initialized")
        if reset:
            eval_data.reset()
        for nbatch, eval_batch in enumerate(eval_data):
            if nbatch == num_batch:
                break
            self.prepare(eval_batch, sparse_row_id_fn=sparse_row_id_fn)
            self.forward(eval_batch, is_train=False)
            yield _without_padding(self.get_outputs(), eval_batch.pad), nbatch, eval_batch

    def predict(
        self,
        eval_data: Any,
        num_batch: int | None = None,
        merge_batches: bool = True,
        reset: bool = True,
        always_output_list: bool = False,
        sparse_row_id_fn: Any = None,
    ) -> Any:
        """The outputs for a DataIter, or for one array of a batch.

        merge_batches: the batches of each output are joined, and a single output is no list unless
        `always_output_list`; otherwise a list of outputs for each batch. ValueError for another kind of data.
        """
        self._need("binded", "params_initialized")
        if isinstance(eval_data, (nd.NDArray, np.ndarray)):
            self.forward(DataBatch([nd.array(eval_data) if isinstance(eval_data, np.ndarray) else eval_data]))
            return self.get_outputs()[0]
        if not isinstance(eval_data, DataIter):
            raise ValueError(f"eval_data must be of type NDArray or DataIter, got {type(eval_data).__name__}")
        batches = [
            [y.copy() for y in outputs]
            for outputs, _, _ in self.iter_predict(eval_data, num_batch, reset, sparse_row_id_fn)
        ]
        if not batches or not merge_batches:
            return batches
        assert all(len(outputs) == len(batches[0]) for outputs in batches), (
            "Cannot merge batches, as num of outputs is not the same in mini-batches. Maybe bucketing is used?"
        )
        merged = [nd.concatenate(list(parts)) for parts in zip(*batches, strict=True)]
        return merged[0] if len(merged) == 1 and not always_output_list else merged

    def fit(
        self,
        train_data: Any,
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        eval_end_callback: Any = None,
        eval_batch_end_callback: Any = None,
        initializer: Any = Uniform(0.01),  # noqa: B008  (the original's signature shows it)
        arg_params: Any = None,
        aux_params: Any = None,
        allow_missing: bool = False,
        force_rebind: bool = False,
        force_init: bool = False,
        begin_epoch: int = 0,
        num_epoch: int | None = None,
        validation_metric: Any = None,
        monitor: Any = None,
        sparse_row_id_fn: Any = None,
    ) -> None:
        """Binds and initializes the module if needed, and trains it for `num_epoch - begin_epoch` epochs.

        `batch_end_callback` gets a BatchEndParam, `epoch_end_callback` epoch, symbol and both dicts of parameters.
        AssertionError without `num_epoch`.
        """
        assert num_epoch is not None, "please specify number of epochs"
        self.bind(train_data.provide_data, train_data.provide_label, for_training=True, force_rebind=force_rebind)
        if monitor is not None:
            self.install_monitor(monitor)
        self.init_params(initializer, arg_params, aux_params, allow_missing=allow_missing, force_init=force_init)
        self.init_optimizer(kvstore=kvstore, optimizer=optimizer, optimizer_params=optimizer_params)
        validation_metric = eval_metric if validation_metric is None else validation_metric
        if not isinstance(eval_metric, metrics.EvalMetric):
            eval_metric = metrics.create(eval_metric)

        for epoch in range(begin_epoch, num_epoch):
            tic = time.time()
            eval_metric.reset()
            self._begin_epoch(train_data, epoch)
            nbatch = 0
            data_iter = iter(train_data)
            next_data_batch = next(data_iter)
            while next_data_batch is not None:
                data_batch = next_data_batch
                if monitor is not None:
                    monitor.tic()
                self.forward_backward(data_batch)
                self.update()
                self._update_metric_of(eval_metric, data_batch)
                next_data_batch = next(data_iter, None)
                if next_data_batch is not None:  # lets a store fetch the rows that the next batch needs
                    self.prepare(next_data_batch, sparse_row_id_fn=sparse_row_id_fn)
                if monitor is not None:
                    monitor.toc_print()
                if next_data_batch is None:  # read here, because a callback may reset the metric
                    eval_name_vals = eval_metric.get_global_name_value()
                if batch_end_callback is not None:
                    _call_all(batch_end_callback, BatchEndParam(epoch, nbatch, eval_metric, locals()))
                nbatch += 1

            for name, val in eval_name_vals:
                self.logger.info("Epoch[%d] Train-%s=%f", epoch, name, val)
            self.logger.info("Epoch[%d] Time cost=%.3f", epoch, time.time() - tic)

            arg_params, aux_params = self.get_params()
            self.set_params(arg_params, aux_params)
            if epoch_end_callback is not None:
                _call_all(epoch_end_callback, epoch, self.symbol, arg_params, aux_params)
            if eval_data is not None:
                found = self.score(
                    eval_data,
                    validation_metric,
                    score_end_callback=eval_end_callback,
                    batch_end_callback=eval_batch_end_callback,
                    epoch=epoch,
                )
                for name, val in found:
                    self.logger.info("Epoch[%d] Validation-%s=%f", epoch, name, val)
            train_data.reset()

    def _begin_epoch(self, train_data: Any, epoch: int) -> None:
        """Called before each epoch of `fit`; does nothing in this class."""

    @property
    def symbol(self) -> Any:
        """The symbol, None for a module without one."""
        return self._symbol

    # ---- what subclasses define ----

    def _undefined(self, what: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__} does not define {what}")

    data_names = _abstract("data_names", "Names of the data that a batch has.")
    output_names = _abstract("output_names", "Names of the outputs.")
    data_shapes = _abstract("data_shapes", "Pairs of name and shape of the data.")
    label_shapes = _abstract("label_shapes", "Pairs of name and shape of the labels; None or empty if there are none.")
    output_shapes = _abstract("output_shapes", "Pairs of name and shape of the outputs.")

    def get_params(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Parameters and auxiliary states by name."""
        raise self._undefined("get_params")

    def init_params(
        self,
        initializer: Any = Uniform(0.01),  # noqa: B008
        arg_params: Any = None,
        aux_params: Any = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Gives parameters and states their values: those of the dicts, else the initializer's.

        allow_missing: whether the dicts may lack some, else RuntimeError; allow_extra: whether they may have others.
        A second call without `force_init` does nothing. A SequentialModule gives AssertionError if two of its
        modules have a parameter of one name; a PythonModule has nothing to initialize.
        """
        self._init_params(initializer, arg_params, aux_params, allow_missing, force_init, allow_extra)

    def _init_params(self, initializer, arg_params, aux_params, allow_missing, force_init, allow_extra):
        raise self._undefined("init_params")

    def set_params(
        self,
        arg_params: Any,
        aux_params: Any,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """`init_params` from the dicts only; with `allow_missing` parameters that they lack stay unchanged."""
        self._set_params(arg_params, aux_params, allow_missing, force_init, allow_extra)

    def _set_params(self, arg_params, aux_params, allow_missing, force_init, allow_extra):
        self.init_params(None, arg_params, aux_params, allow_missing, force_init, allow_extra)

    def save_params(self, fname: str) -> None:
        """Writes parameters and states to a file."""
        nd.save(fname, collected_params(*self.get_params()))

    def load_params(self, fname: str) -> None:
        """Reads what `save_params` wrote; ValueError for another file. Where it fails, the parameters stay."""
        found = separated_params(nd.load(fname), fname)
        if set(found) - {"arg", "aux"}:
            raise ValueError("Invalid param file " + fname)
        before = None
        if self.params_initialized:
            before = [{name: x.copy() for name, x in params.items()} for params in self.get_params()]
        try:
            with naming(fname, to=RuntimeError):
                self.set_params(found["arg"], found["aux"])
        except BaseException:
            if before is not None:
                self.set_params(*before)
            raise

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """An empty list: the module has no states."""
        self._need("binded", "params_initialized")
        assert not merge_multi_context, "get_states: merge_multi_context must be False for a module without states"
        return []

    def set_states(self, states: Any = None, value: Any = None) -> None:
        """AssertionError for states or a value: the module has no states."""
        self._need("binded", "params_initialized")
        assert not states and not value, "the module has no states that could be set"

    def install_monitor(self, mon: Any) -> None:
        """Has a Monitor watch the executors."""
        raise self._undefined("install_monitor")

    def prepare(self, data_batch: Any, sparse_row_id_fn: Any = None) -> None:
        """Prepares for a batch. `sparse_row_id_fn` gives the rows of row_sparse parameters that the batch needs."""
        if sparse_row_id_fn is not None:
            warnings.warn("sparse_row_id_fn is not invoked for BaseModule.", UserWarning, stacklevel=2)

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Runs the module on a batch; `is_train`: whether it trains (default: as it was bound)."""
        raise self._undefined("forward")

    def backward(self, out_grads: Any = None) -> None:
        """Computes gradients. `out_grads`: gradients of the outputs; losses need none."""
        raise self._undefined("backward")

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """The outputs of the last `forward`, joined over the contexts, or as a list with an array for each context."""
        raise self._undefined("get_outputs")

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """The gradients of the data, where the module was bound with `inputs_need_grad`."""
        raise self._undefined("get_input_grads")

    def update(self) -> None:
        """Has the optimizer update the parameters with the gradients."""
        raise self._undefined("update")

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Adds the outputs and these labels to a metric; `pre_sliced`: the labels are a list for each context."""
        raise self._undefined("update_metric")

    def bind(
        self,
        data_shapes: Any,
        label_shapes: Any = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Any = None,
        grad_req: Any = "write",
    ) -> None:
        """Makes the executors for data of these shapes (DataDesc, or tuples of name and shape).

        shared_module: a Module whose parameters and optimizer are used. A BucketingModule binds its default bucket;
        the others are bound when a batch needs them.
        """
        self._bind(data_shapes, label_shapes, for_training, inputs_need_grad, force_rebind, shared_module, grad_req)

    def _bind(self, data_shapes, label_shapes, for_training, inputs_need_grad, force_rebind, shared_module, grad_req):
        raise self._undefined("bind")

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Sets an Optimizer, or makes one by name with `optimizer_params`, and the store that holds parameters.

        An optimizer that a Module makes averages gradients over the batch.
        """
        self._init_optimizer(kvstore, optimizer, optimizer_params, force_init)

    def _init_optimizer(self, kvstore, optimizer, optimizer_params, force_init):
        raise self._undefined("init_optimizer")
