"""BucketingModule: a Module for each length of the data, all with the same parameters."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import numpy as np

from .. import context as contexts
from .. import ndarray as nd
from .._checkpoint import checkpoint_file, load_params
from ..initializer import Uniform  # noqa: F401  programs find it here, as in MXNet
from ..name import NameManager
from ..symbol import load
from ._delegating import DelegatingModule
from .base_module import (
    BaseModule,  # noqa: F401  programs find it here, as in MXNet
    _check_input_names,
)
from .module import Module

__all__ = ["BucketingModule"]


def _of_bucket(name: str, doc: str) -> Any:
    """Makes a property that the module of the current bucket has, too; it exists once the module is bound."""

    def get(self: BucketingModule) -> Any:
        self._need("binded")
        return getattr(self._curr_module, name)

    return property(get, doc=doc)


class BucketingModule(DelegatingModule):
    """A Module for each length of the data, all with the same parameters; the `bucket_key` of a batch chooses.

    Args:
        sym_gen: a function of a bucket's key that gives the symbol, the names of the data and those of the labels.
        default_bucket_key: key of the largest bucket, which is bound first.
        logger, context, work_load_list, fixed_param_names, state_names, group2ctxs, compression_params: as in Module.

    Raises:
        AssertionError: there is no `default_bucket_key`; in the methods, the module is not bound, initialized or has no
            optimizer.
        ValueError: a symbol has no such argument; for labels, that is a warning.

    Example:
        >>> def sym_gen(length):
        ...     x = mx.sym.sum(mx.sym.var("data"), axis=1, keepdims=True)
        ...     return mx.sym.FullyConnected(x, num_hidden=1, no_bias=True, name="fc"), ["data"], None
        >>> mod = mx.mod.BucketingModule(sym_gen, default_bucket_key=4)
        >>> mod.bind([("data", (1, 4))], for_training=False)
        >>> mod.init_params(mx.init.One())
        >>> batch = mx.io.DataBatch([nd.ones((1, 3))], bucket_key=3, provide_data=[("data", (1, 3))])
        >>> mod.forward(batch)
        >>> mod.get_outputs()[0].asnumpy()
        array([[3.]], dtype=float32)

    Source: `mxnet.module.BucketingModule` of MXNet 1.9.1.
    """

    def __init__(
        self,
        sym_gen: Any,
        default_bucket_key: Any = None,
        logger: Any = logging,
        context: Any = contexts.cpu(),  # noqa: B008  (the original's signature shows it)
        work_load_list: Any = None,
        fixed_param_names: Any = None,
        state_names: Any = None,
        group2ctxs: Any = None,
        compression_params: Any = None,
    ) -> None:
        super().__init__(logger=logger)
        assert default_bucket_key is not None, "default_bucket_key: expected the key of the largest bucket, got None"
        self._default_bucket_key = default_bucket_key
        self._sym_gen = sym_gen
        self._options = {
            "logger": logger,
            "context": context,
            "work_load_list": work_load_list,
            "fixed_param_names": list(fixed_param_names or ()),
            "state_names": list(state_names or ()),
            "group2ctxs": group2ctxs,
            "compression_params": compression_params,
        }
        symbol, data_names, label_names = self._call_sym_gen(default_bucket_key)
        _check_input_names(symbol, list(data_names or ()), "data", True)
        _check_input_names(symbol, list(label_names or ()), "label", False)
        _check_input_names(symbol, self._options["state_names"], "state", True)
        _check_input_names(symbol, self._options["fixed_param_names"], "fixed_param", True)
        self._monitor: Any = None
        self._grad_req: Any = None
        self._params_dirty = False
        self._reset_bind()

    def _reset_bind(self) -> None:
        self.binded = False
        self._buckets: dict[Any, Module] = {}
        self._curr_module: Any = None
        self._curr_bucket_key: Any = None

    def _call_sym_gen(self, *args: Any, **kwargs: Any) -> Any:
        with NameManager():  # the same names for all buckets
            return self._sym_gen(*args, **kwargs)

    # ---- names and shapes ----

    @property
    def data_names(self) -> list[str]:
        """Names of the data."""
        return self._curr_module.data_names if self.binded else self._call_sym_gen(self._default_bucket_key)[1]

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs."""
        if self.binded:
            return self._curr_module.output_names
        return self._call_sym_gen(self._default_bucket_key)[0].list_outputs()

    data_shapes = _of_bucket("data_shapes", "Descriptions of the data of the current bucket.")
    label_shapes = _of_bucket("label_shapes", "Descriptions of the labels of the current bucket.")
    output_shapes = _of_bucket("output_shapes", "Pairs of name and shape of the outputs of the current bucket.")
    symbol = _of_bucket("symbol", "The symbol of the current bucket.")

    # ---- parameters ----

    @property
    def _runner(self) -> Any:
        return self._curr_module

    def get_params(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """See Module.get_params."""
        self._need("params_initialized")
        self._curr_module._params_dirty = self._params_dirty
        params = self._curr_module.get_params()
        self._params_dirty = False
        return params

    def _init_params(self, initializer, arg_params, aux_params, allow_missing, force_init, allow_extra):
        if self.params_initialized and not force_init:
            return
        assert self.binded, "call bind before initializing the parameters"
        self._curr_module.init_params(initializer, arg_params, aux_params, allow_missing, force_init, allow_extra)
        self._params_dirty = False
        self.params_initialized = True

    def _set_params(self, arg_params, aux_params, allow_missing, force_init, allow_extra):
        if not allow_missing:
            self.init_params(None, arg_params, aux_params, False, force_init, allow_extra)
            return
        if self.params_initialized and not force_init:
            warnings.warn("Parameters already initialized and force_init=False. set_params call ignored.", stacklevel=3)
            return
        self._curr_module.set_params(arg_params, aux_params, allow_missing, force_init, allow_extra)
        # the new values are only in the executors of the current module: get_params must read them from there
        self._params_dirty = True
        self.params_initialized = True

    # ---- buckets ----

    def _bind(self, data_shapes, label_shapes, for_training, inputs_need_grad, force_rebind, shared_module, grad_req):
        """Binds the default bucket; the others are bound when a batch needs them."""
        params = self.get_params() if self.params_initialized else None
        loaded: dict[Any, Module] = self._buckets if not self.binded else {}
        if force_rebind:
            self._reset_bind()
        if self.binded:
            self.logger.warning("Already bound, ignoring bind()")
            return
        assert shared_module is None, "shared_module for BucketingModule is not supported"
        self.for_training, self.inputs_need_grad, self._grad_req = for_training, inputs_need_grad, grad_req
        self.binded = True
        key = self._default_bucket_key
        module = loaded.get(key) or self._made_module(key)
        module.bind(data_shapes, label_shapes, for_training, inputs_need_grad, grad_req=grad_req)
        self._buckets[key] = self._curr_module = module
        self._curr_bucket_key = key
        if params is not None:
            self.set_params(*params)

    def _made_module(self, bucket_key: Any) -> Module:
        symbol, data_names, label_names = self._call_sym_gen(bucket_key)
        return Module(symbol, data_names, label_names, **self._options)

    def switch_bucket(self, bucket_key: Any, data_shapes: Any, label_shapes: Any = None) -> None:
        """Makes the bucket the current one, and binds it for these shapes if it is new."""
        assert self.binded, "call bind before switching bucket"
        module = self._buckets.get(bucket_key)
        is_new = module is None
        if module is None:
            module = self._made_module(bucket_key)
        if not module.binded:
            module.bind(
                data_shapes,
                label_shapes,
                self._curr_module.for_training,
                self._curr_module.inputs_need_grad,
                shared_module=self._buckets[self._default_bucket_key],
                grad_req=self._grad_req,
            )
        if is_new and self._monitor is not None:
            module.install_monitor(self._monitor)
        self._buckets[bucket_key] = self._curr_module = module
        self._curr_bucket_key = bucket_key

    # ---- training ----

    def _init_optimizer(self, kvstore, optimizer, optimizer_params, force_init):
        self._need("binded", "params_initialized")
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring.")
            return
        self._curr_module.init_optimizer(kvstore, optimizer, optimizer_params, force_init=force_init)
        for module in self._buckets.values():
            if module is not self._curr_module:
                module.borrow_optimizer(self._curr_module)
        self.optimizer_initialized = True

    def prepare(self, data_batch: Any, sparse_row_id_fn: Any = None) -> None:
        """Binds the bucket of a batch and prepares it; the current bucket stays."""
        self._need("binded", "params_initialized")
        before = self._curr_bucket_key
        self.switch_bucket(data_batch.bucket_key, data_batch.provide_data, data_batch.provide_label)
        self._curr_module.prepare(data_batch, sparse_row_id_fn=sparse_row_id_fn)
        self.switch_bucket(before, None, None)

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Switches to the bucket of a batch and runs it."""
        self._need("binded", "params_initialized")
        self.switch_bucket(data_batch.bucket_key, data_batch.provide_data, data_batch.provide_label)
        self._curr_module.forward(data_batch, is_train=is_train)

    def backward(self, out_grads: Any = None) -> None:
        """See BaseModule.backward."""
        self._need("binded", "params_initialized")
        self._curr_module.backward(out_grads=out_grads)

    def update(self) -> None:
        """See BaseModule.update."""
        self._need("binded", "params_initialized", "optimizer_initialized")
        self._params_dirty = True
        self._curr_module.update()

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """See BaseModule.update_metric."""
        self._need("binded", "params_initialized")
        self._curr_module.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Any) -> None:
        """Has a Monitor watch all buckets, later ones too."""
        self._need("binded")
        self._monitor = mon
        for module in self._buckets.values():
            module.install_monitor(mon)

    # ---- files ----

    def save_checkpoint(self, prefix: str, epoch: int, remove_amp_cast: bool = False) -> None:
        """Writes the parameters, the symbol of each bucket (`prefix`-key-symbol.json) and `prefix`.buckets."""
        assert self._buckets, "Empty BucketingModule cannot be saved"
        self.save_params(checkpoint_file(prefix, epoch))
        for key in self._buckets:
            symbol = self._sym_gen(key)[0]
            symbol.save(f"{prefix}-{key}-symbol.json", remove_amp_cast=remove_amp_cast)
        nd.save(f"{prefix}.buckets", nd.array(list(self._buckets), dtype=np.int32))

    @staticmethod
    def load(
        prefix: str, epoch: int, sym_gen: Any = None, default_bucket_key: Any = None, **kwargs: Any
    ) -> BucketingModule:
        """Reads what `save_checkpoint` wrote; the keyword arguments are those of Module."""
        assert sym_gen is not None, "sym_gen is required for loading BucketingModule"
        assert default_bucket_key is not None, "default_bucket_key is required for loading BucketingModule"
        keys = [int(key) for key in nd.load(f"{prefix}.buckets")[0].asnumpy()]
        symbols = {key: load(f"{prefix}-{key}-symbol.json") for key in keys}
        return BucketingModule.load_dict(symbols, sym_gen, default_bucket_key, *load_params(prefix, epoch), **kwargs)

    @staticmethod
    def load_dict(
        sym_dict: Any = None,
        sym_gen: Any = None,
        default_bucket_key: Any = None,
        arg_params: Any = None,
        aux_params: Any = None,
        **kwargs: Any,
    ) -> BucketingModule:
        """A BucketingModule of symbols by bucket key and both dicts of parameters."""
        for name, value in (
            ("sym_dict", sym_dict),
            ("arg_params", arg_params),
            ("aux_params", aux_params),
            ("default_bucket_key", default_bucket_key),
        ):
            assert value is not None, f"{name} needs to be provided for BucketingModule.load_dict"
        result = BucketingModule(sym_gen, default_bucket_key, **kwargs)
        for key, symbol in sym_dict.items():
            _, data_names, label_names = sym_gen(key)
            result._buckets[key] = Module(symbol, data_names, label_names, **kwargs)
        result._curr_module = module = result._buckets[default_bucket_key]
        module._arg_params, module._aux_params = arg_params, aux_params
        module.params_initialized = result.params_initialized = True
        return result
