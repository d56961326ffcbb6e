"""FeedForward, MXNet's older interface for training, which runs a Module here; and the functions for checkpoints."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import numpy as np

from . import metric as metrics
from . import ndarray as nd
from ._checkpoint import BatchEndParam, _multiple_callbacks, load_checkpoint, save_checkpoint
from ._checkpoint import _initialize_kvstore as _initialize_kvstore
from ._checkpoint import _update_params as _update_params
from ._checkpoint import _update_params_on_kvstore as _update_params_on_kvstore
from ._checkpoint import load_params as load_params
from .base import _as_list
from .context import Context, cpu
from .executor_manager import _check_arguments
from .initializer import Uniform
from .io import DataIter, NDArrayIter, ResizeIter
from .kvstore import _create_kvstore as _create_kvstore
from .kvstore import _create_sparse_kvstore as _create_sparse_kvstore
from .module import BucketingModule, Module
from .symbol import Symbol

__all__ = ["BatchEndParam", "FeedForward", "load_checkpoint", "load_params", "save_checkpoint"]

for _known in (BatchEndParam, load_checkpoint, load_params, save_checkpoint):
    _known.__module__ = __name__  # the module's name in MXNet, as in pickles


def _is_input(name: str) -> bool:
    return name.endswith(("data", "label"))


class FeedForward:
    """A symbol with parameters that `fit` trains; deprecated in favour of `mx.mod.Module`.

    Args:
        symbol: the symbol, or a function that gives one for a bucket's key.
        ctx: a context or a list of them; None is the CPU.
        num_epoch: the epoch after which training ends.
        epoch_size: batches of an epoch; None for all that the data have.
        optimizer: an optimizer or its name.
        initializer: what makes parameters that are not given.
        numpy_batch_size: size of the batches that are made of arrays.
        arg_params, aux_params: parameters and auxiliary states to begin with, by name.
        allow_extra_params: parameters that the symbol lacks are left out.
        begin_epoch: number of the first epoch.
        **kwargs: arguments of the optimizer.

    Raises:
        AssertionError: `symbol` is neither a symbol nor a function.
        ValueError: a name stands twice in the symbol.

    Example:
        >>> y = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="fc")
        >>> model = mx.model.FeedForward(y, arg_params={"fc_weight": nd.array([[2, 3]])})
        >>> model.predict(np.array([[1, 1], [0, 1]], np.float32))
        array([[5.],
               [3.]], dtype=float32)

    Source: `mxnet.model.FeedForward` of MXNet 1.9.1.
    """

    def __init__(
        self,
        symbol: Any,
        ctx: Any = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: Any = "sgd",
        initializer: Any = Uniform(0.01),  # noqa: B008  (the original's signature shows it)
        numpy_batch_size: int = 128,
        arg_params: Any = None,
        aux_params: Any = None,
        allow_extra_params: bool = False,
        begin_epoch: int = 0,
        **kwargs: Any,
    ) -> None:
        warnings.warn(
            "mxnet.model.FeedForward has been deprecated. Please use mxnet.mod.Module instead.",
            DeprecationWarning,
            stacklevel=2,
        )
        self.symbol = symbol if isinstance(symbol, Symbol) else None
        self.sym_gen = None if isinstance(symbol, Symbol) else symbol
        assert self.sym_gen is None or callable(symbol), (
            f"symbol must be a Symbol or a function, not {type(symbol).__name__}"
        )
        self.ctx = [cpu()] if ctx is None else _as_list(ctx) if isinstance(ctx, Context) else list(ctx)
        self.num_epoch, self.begin_epoch, self.epoch_size = num_epoch, begin_epoch, epoch_size
        self.optimizer, self.kwargs = optimizer, dict(kwargs)
        self.initializer = initializer
        self.numpy_batch_size = numpy_batch_size
        self.allow_extra_params = allow_extra_params
        self.arg_params, self.aux_params = arg_params, aux_params
        if self.symbol is not None:
            self._check_arguments()

    def _check_arguments(self) -> None:
        """ValueError for names used twice; with `allow_extra_params`, drops parameters that the symbol lacks."""
        _check_arguments(self.symbol)
        if self.allow_extra_params:
            args, auxs = set(self.symbol.list_arguments()), set(self.symbol.list_auxiliary_states())
            self.arg_params = {k: x for k, x in (self.arg_params or {}).items() if k in args} or None
            self.aux_params = {k: x for k, x in (self.aux_params or {}).items() if k in auxs} or None

    # ---- data ----

    def _init_iter(self, X: Any, y: Any, is_train: bool) -> Any:
        """A DataIter of X, or of arrays X and y; ValueError and TypeError for what is neither."""
        if not isinstance(X, (np.ndarray, nd.NDArray)):
            if not isinstance(X, DataIter):
                raise TypeError(f"X must be DataIter, NDArray or numpy.ndarray, got {type(X).__name__}")
            return X
        if y is None:
            if is_train:
                raise ValueError("y must be specified when X is numpy.ndarray")
            y = np.zeros(X.shape[0])
        if not isinstance(y, (np.ndarray, nd.NDArray)):
            raise TypeError(f"y must be ndarray when X is numpy.ndarray, got {type(y).__name__}")
        if X.shape[0] != y.shape[0]:
            raise ValueError(f"The numbers of data points and labels not equal: {X.shape[0]} and {y.shape[0]}")
        if y.ndim == 2 and y.shape[1] == 1:
            y = y.flatten()
        if y.ndim != 1:
            raise ValueError(f"Label must be 1D or 2D (with 2nd dimension being 1), got shape {y.shape}")
        size = min(X.shape[0], self.numpy_batch_size)
        return NDArrayIter(X, y, size, shuffle=is_train, last_batch_handle="roll_over" if is_train else "pad")

    def _init_eval_iter(self, eval_data: Any) -> Any:
        if isinstance(eval_data, (tuple, list)) and len(eval_data) == 2:
            data, labels = (np.array(x) if isinstance(x, list) else x for x in eval_data)
            if data is None:
                raise ValueError("Eval data is NONE")
            return data if labels is None and isinstance(data, DataIter) else self._init_iter(data, labels, True)
        if eval_data is not None and not isinstance(eval_data, DataIter):
            raise TypeError(
                "Eval data must be DataIter, or NDArray/numpy.ndarray/list pair (i.e. tuple/list of length 2)"
            )
        return eval_data

    # ---- prediction ----

    def _predictor(self, it: Any) -> Module:
        """A Module for the iterator's data on the first context; labels that the symbol has are zeros."""
        assert self.symbol is not None
        if self.arg_params is None:
            raise AttributeError("FeedForward: there are no parameters yet: call fit, or give arg_params")
        args = self.symbol.list_arguments()
        names = [desc[0] for desc in it.provide_data]
        given = dict(self.arg_params)
        others = [n for n in args if n not in names and n not in given]
        mod = Module(self.symbol, names, [], context=self.ctx[:1], state_names=others)
        shapes, _, _ = self.symbol.infer_shape(**{desc[0]: desc[1] for desc in it.provide_data})
        mod.bind(it.provide_data, for_training=False)
        assert shapes is not None
        mod.set_params(given, self.aux_params or {}, allow_extra=True)
        return mod

    def predict(self, X: Any, num_batch: int | None = None, return_data: bool = False, reset: bool = True) -> Any:
        """The outputs (an array, or a list) as NumPy; with `return_data` also data and labels."""
        it = self._init_iter(X, None, is_train=False)
        mod = self._predictor(it)
        outputs, data, labels = [], [], []
        for ys, _, batch in mod.iter_predict(it, num_batch or None, reset):
            outputs.append([y.asnumpy() for y in ys])
            real = batch.data[0].shape[0] - (batch.pad or 0)
            if return_data:
                data.append([x[:real].asnumpy() for x in batch.data])
                labels.append([x[:real].asnumpy() for x in batch.label])

        def joined(batches: list[Any]) -> Any:
            arrays = [np.concatenate(parts) for parts in zip(*batches, strict=True)]
            return arrays[0] if len(arrays) == 1 else arrays

        return (joined(outputs), joined(data), joined(labels)) if return_data else joined(outputs)

    def score(
        self, X: Any, eval_metric: Any = "acc", num_batch: int | None = None, batch_end_callback: Any = None,
        reset: bool = True,
    ) -> Any:  # fmt: skip
        """The value of a metric over a DataIter."""
        if not isinstance(eval_metric, metrics.EvalMetric):
            eval_metric = metrics.create(eval_metric)
        it = self._init_iter(X, None, is_train=False)
        eval_metric.reset()
        for ys, i, batch in self._predictor(it).iter_predict(it, num_batch, reset):
            eval_metric.update([x[: ys[0].shape[0]] for x in batch.label], ys)
            if batch_end_callback is not None:
                _multiple_callbacks(batch_end_callback, BatchEndParam(0, i, eval_metric, locals()))
        return eval_metric.get()[1]

    # ---- training ----

    def fit(
        self,
        X: Any,
        y: Any = None,
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: Any = "local",
        logger: Any = None,
        work_load_list: Any = None,
        monitor: Any = None,
        eval_end_callback: Any = None,
        eval_batch_end_callback: Any = None,
    ) -> None:
        """Trains for `num_epoch` epochs on a DataIter, or on arrays X and y."""
        data = self._init_iter(X, y, is_train=True)
        if self.epoch_size is not None:
            data = ResizeIter(data, self.epoch_size, reset_internal=False)
        labels = [desc[0] for desc in data.provide_label]
        names = [desc[0] for desc in data.provide_data]
        options = {"context": self.ctx, "work_load_list": work_load_list, "logger": logger or logging}
        mod: Any
        if self.sym_gen is not None:
            gen = self.sym_gen
            mod = BucketingModule(lambda key: (gen(key), names, labels), data.default_bucket_key, **options)
        else:
            mod = Module(self.symbol, names, labels, **options)
        mod.fit(
            data,
            eval_data=self._init_eval_iter(eval_data),
            eval_metric=eval_metric,
            epoch_end_callback=epoch_end_callback,
            batch_end_callback=batch_end_callback,
            kvstore=kvstore,
            optimizer=self.optimizer,
            optimizer_params=self.kwargs,
            eval_end_callback=eval_end_callback,
            eval_batch_end_callback=eval_batch_end_callback,
            initializer=self.initializer,
            arg_params=self.arg_params,
            aux_params=self.aux_params,
            allow_missing=True,
            begin_epoch=self.begin_epoch,
            num_epoch=self.num_epoch,
            monitor=monitor,
        )
        self.arg_params, self.aux_params = mod.get_params()
        self.symbol = mod.symbol

    # ---- files ----

    def save(self, prefix: str, epoch: int | None = None, remove_amp_cast: bool = True) -> None:
        """Writes a checkpoint; `epoch` is `num_epoch` unless given."""
        epoch = self.num_epoch if epoch is None else epoch
        assert epoch is not None
        save_checkpoint(prefix, epoch, self.symbol, self.arg_params or {}, self.aux_params or {}, remove_amp_cast)

    @staticmethod
    def load(prefix: str, epoch: int, ctx: Any = None, **kwargs: Any) -> FeedForward:
        """The model of a checkpoint, which `fit` trains from `epoch` on."""
        symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
        return FeedForward(symbol, ctx=ctx, arg_params=arg_params, aux_params=aux_params, begin_epoch=epoch, **kwargs)

    @staticmethod
    def create(
        symbol: Any,
        X: Any,
        y: Any = None,
        ctx: Any = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: Any = "sgd",
        initializer: Any = Uniform(0.01),  # noqa: B008
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: Any = "local",
        logger: Any = None,
        work_load_list: Any = None,
        eval_end_callback: Any = None,
        eval_batch_end_callback: Any = None,
        **kwargs: Any,
    ) -> FeedForward:
        """A trained model; see the class and `fit`."""
        model = FeedForward(
            symbol, ctx=ctx, num_epoch=num_epoch, epoch_size=epoch_size, optimizer=optimizer, initializer=initializer,
            **kwargs,
        )  # fmt: skip
        model.fit(
            X, y, eval_data=eval_data, eval_metric=eval_metric, epoch_end_callback=epoch_end_callback,
            batch_end_callback=batch_end_callback, kvstore=kvstore, logger=logger, work_load_list=work_load_list,
            eval_end_callback=eval_end_callback, eval_batch_end_callback=eval_batch_end_callback,
        )  # fmt: skip
        return model
