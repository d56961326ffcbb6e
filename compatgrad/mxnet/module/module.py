"""Module: a symbol with its parameters on one or several contexts."""

from __future__ import annotations

import logging
import warnings
from typing import Any

from compatgrad.core.files import replacing

from .. import context as contexts
from .. import ndarray as nd
from .. import optimizer as opt
from .._checkpoint import (
    _initialize_kvstore,
    _update_params,
    _update_params_on_kvstore,
    checkpoint_file,
    load_checkpoint,
)
from ..initializer import (
    InitDesc,
    Uniform,  # noqa: F401  programs find it here, as in MXNet
)
from ..io import DataDesc
from ..kvstore import _create_kvstore
from ._delegating import DelegatingModule
from .base_module import (
    BaseModule,  # noqa: F401  programs find it here, as in MXNet
    _check_input_names,
    _parse_data_desc,
)
from .executor_group import DataParallelExecutorGroup

__all__ = ["Module"]


def _ignored(what: str) -> None:
    warnings.warn(f"Parameters already initialized and force_init=False. {what} call ignored.", stacklevel=4)


class Module(DelegatingModule):
    """Trains and runs a symbol, on one or several contexts.

    Args:
        symbol: the symbol.
        data_names, label_names, state_names: which arguments are data, labels and states; all others are parameters.
        logger: what logs, with the methods of the module `logging`.
        context: a context, or a list of contexts, to which batches are dealt out.
        work_load_list: the proportions of the parts; None for equal parts.
        fixed_param_names: parameters that are not trained.
        group2ctxs: contexts of groups of operators: a dict from a group to its context, or a list of a dict for each of
            `context`.
        compression_params: what the store's `set_gradient_compression` gets.

    Raises:
        ValueError: the symbol has no such argument; for labels, that is a warning.
        AssertionError: there are not as many numbers in `work_load_list` as contexts; in the methods, the module is not
            bound, initialized or has no optimizer.

    Example:
        >>> y = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="fc")
        >>> mod = mx.mod.Module(mx.sym.LinearRegressionOutput(y, mx.sym.var("label")), label_names=["label"])
        >>> data = mx.io.NDArrayIter(np.array([[1.0], [2.0]]), np.array([3.0, 6.0]), batch_size=2, label_name="label")
        >>> mod.fit(data, eval_metric="mse", optimizer_params={"learning_rate": 0.3}, num_epoch=50)
        >>> mod.predict(data).asnumpy().round(2)
        array([[3.],
               [6.]], dtype=float32)

    Source: `mxnet.module.Module` of MXNet 1.9.1.
    """

    def __init__(
        self,
        symbol: Any,
        data_names: Any = ("data",),
        label_names: Any = ("softmax_label",),
        logger: Any = logging,
        context: Any = contexts.cpu(),  # noqa: B008  (the original's signature shows it)
        work_load_list: Any = None,
        fixed_param_names: Any = None,
        state_names: Any = None,
        group2ctxs: Any = None,
        compression_params: Any = None,
    ) -> None:
        super().__init__(logger=logger)
        self._context = [context] if isinstance(context, contexts.Context) else context
        self._work_load_list = [1] * len(self._context) if work_load_list is None else work_load_list
        assert len(self._work_load_list) == len(self._context), (
            f"work_load_list has {len(self._work_load_list)} numbers for {len(self._context)} contexts"
        )
        self._group2ctxs = group2ctxs
        self._compression_params = compression_params
        self._symbol = symbol
        self._data_names = list(data_names or ())
        self._label_names = list(label_names or ())
        self._state_names = list(state_names or ())
        self._fixed_param_names = list(fixed_param_names or ())
        _check_input_names(symbol, self._data_names, "data", True)
        _check_input_names(symbol, self._label_names, "label", False)
        _check_input_names(symbol, self._state_names, "state", True)
        _check_input_names(symbol, self._fixed_param_names, "fixed_param", True)
        inputs = {*self._data_names, *self._label_names, *self._state_names}
        self._param_names = [name for name in symbol.list_arguments() if name not in inputs]
        self._aux_names = symbol.list_auxiliary_states()
        self._output_names = symbol.list_outputs()
        self._arg_params: Any = None
        self._aux_params: Any = None
        self._params_dirty = False  # whether the executors' parameters are newer than those two
        self._optimizer: Any = None
        self._kvstore: Any = None
        self._update_on_kvstore: Any = None
        self._updater: Any = None
        self._preload_opt_states: Any = None
        self._grad_req: Any = None
        self._reset_bind()

    @staticmethod
    def load(prefix: str, epoch: int, load_optimizer_states: bool = False, **kwargs: Any) -> Module:
        """The Module of a checkpoint; the keyword arguments are those of Module."""
        symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
        mod = Module(symbol=symbol, **kwargs)
        mod._arg_params, mod._aux_params = arg_params, aux_params
        mod.params_initialized = True
        if load_optimizer_states:
            mod._preload_opt_states = checkpoint_file(prefix, epoch, "states")
        return mod

    def save_checkpoint(
        self, prefix: str, epoch: int, save_optimizer_states: bool = False, remove_amp_cast: bool = True
    ) -> None:
        """Writes `prefix`-symbol.json, `prefix`-0001.params (the epoch), and `prefix`-0001.states if wanted."""
        self._symbol.save(f"{prefix}-symbol.json", remove_amp_cast=remove_amp_cast)
        file = checkpoint_file(prefix, epoch)
        self.save_params(file)
        logging.info('Saved checkpoint to "%s"', file)
        if save_optimizer_states:
            file = checkpoint_file(prefix, epoch, "states")
            self.save_optimizer_states(file)
            logging.info('Saved optimizer state to "%s"', file)

    def _reset_bind(self) -> None:
        self.binded = False
        self._exec_group: Any = None
        self._data_shapes: Any = None
        self._label_shapes: Any = None

    # ---- names and shapes ----

    @property
    def data_names(self) -> list[str]:
        """Names of the data."""
        return self._data_names

    @property
    def label_names(self) -> list[str]:
        """Names of the labels."""
        return self._label_names

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs."""
        return self._output_names

    @property
    def data_shapes(self) -> Any:
        """Descriptions of the data."""
        self._need("binded")
        return self._data_shapes

    @property
    def label_shapes(self) -> Any:
        """Descriptions of the labels, or None."""
        self._need("binded")
        return self._label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Pairs of name and shape of the outputs."""
        self._need("binded")
        return self._exec_group.get_output_shapes()

    # ---- parameters ----

    @property
    def _runner(self) -> Any:
        return self._exec_group

    def get_params(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Parameters and auxiliary states by name, on the CPU."""
        self._need("params_initialized")
        if self._params_dirty:
            self._sync_params_from_devices()
        return self._arg_params, self._aux_params

    def _init_params(self, initializer, arg_params, aux_params, allow_missing, force_init, allow_extra):
        if self.params_initialized and not force_init:
            _ignored("init_params")
            return
        assert self.binded, "call bind before initializing the parameters"
        attrs = self._symbol.attr_dict()
        for own, given in ((self._arg_params, arg_params), (self._aux_params, aux_params)):
            for name, x in sorted(own.items()):
                if given is not None and name in given:
                    if given[name] is not x:
                        given[name].copyto(x)
                elif given is not None and not allow_missing:
                    raise RuntimeError(f"{name} is not presented")
                elif given is None or initializer is not None:
                    initializer(InitDesc(name, attrs.get(name)), x)
        self.params_initialized = True
        self._params_dirty = False
        self._exec_group.set_params(self._arg_params, self._aux_params, allow_extra=allow_extra)

    def _set_params(self, arg_params, aux_params, allow_missing, force_init, allow_extra):
        """Copies these parameters; with `allow_missing` others stay unchanged."""
        if not allow_missing:
            super()._set_params(arg_params, aux_params, False, force_init, allow_extra)
            return
        if self.params_initialized and not force_init:
            _ignored("set_params")
            return
        self._exec_group.set_params(arg_params, aux_params, allow_extra=allow_extra)
        self._params_dirty = True
        self.params_initialized = True

    def _sync_params_from_devices(self) -> None:
        self._exec_group.get_params(self._arg_params, self._aux_params)
        if self._kvstore and self._update_on_kvstore:
            for name, x in sorted(self._arg_params.items()):
                if x.stype == "row_sparse":  # the store has the newest rows
                    self._kvstore.row_sparse_pull(name, x, row_ids=nd.arange(0, x.shape[0], dtype="int64"))
        self._params_dirty = False

    # ---- binding ----

    def _bind(self, data_shapes, label_shapes, for_training, inputs_need_grad, force_rebind, shared_module, grad_req):
        if force_rebind:
            self._reset_bind()
        if self.binded:
            self.logger.warning("Already bound, ignoring bind()")
            return
        assert for_training or not inputs_need_grad, "inputs_need_grad is for modules that are bound for training"
        self.for_training, self.inputs_need_grad, self._grad_req = for_training, inputs_need_grad, grad_req
        self._data_shapes, self._label_shapes = _parse_data_desc(
            self.data_names, self.label_names, data_shapes, label_shapes
        )
        shared_group = None
        if shared_module is not None:
            assert isinstance(shared_module, Module) and shared_module.binded and shared_module.params_initialized
            shared_group = shared_module._exec_group
            assert len(shared_group.execs) >= len(self._context), (
                f"shared_module has {len(shared_group.execs)} contexts; this module has {len(self._context)}"
            )
        self._exec_group = group = DataParallelExecutorGroup(
            self._symbol,
            self._context,
            self._work_load_list,
            self._data_shapes,
            self._label_shapes,
            self._param_names,
            for_training,
            inputs_need_grad,
            shared_group,
            logger=self.logger,
            fixed_param_names=self._fixed_param_names,
            grad_req=grad_req,
            group2ctxs=self._group2ctxs,
            state_names=self._state_names,
        )
        if shared_module is not None:
            self.params_initialized = True
            self._arg_params, self._aux_params = shared_module._arg_params, shared_module._aux_params
        elif self.params_initialized:  # by a checkpoint, or before an earlier bind
            group.set_params(self._arg_params, self._aux_params)
        else:
            assert self._arg_params is None and self._aux_params is None
            self._arg_params = {
                name: nd.zeros(x[0].shape, dtype=x[0].dtype, stype=x[0].stype)
                for name, x in zip(self._param_names, group.param_arrays, strict=True)
            }
            self._aux_params = {
                name: nd.zeros(x[0].shape, dtype=x[0].dtype)
                for name, x in zip(self._aux_names, group.aux_arrays, strict=True)
            }
        if shared_module is not None and shared_module.optimizer_initialized:
            self.borrow_optimizer(shared_module)
        self.binded = True

    def reshape(self, data_shapes: Any, label_shapes: Any = None) -> None:
        """Binds for data of other shapes with the same parameters."""
        self._need("binded")
        self._data_shapes, self._label_shapes = _parse_data_desc(
            self.data_names, self.label_names, data_shapes, label_shapes
        )
        self._exec_group.reshape(self._data_shapes, self._label_shapes)

    # ---- optimizer ----

    def _init_optimizer(self, kvstore, optimizer, optimizer_params, force_init):
        self._need("binded", "params_initialized")
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring...")
            return
        if self._params_dirty:
            self._sync_params_from_devices()
        store, on_store = _create_kvstore(kvstore, len(self._context), self._arg_params)
        samples = self._exec_group.batch_size
        if store and "dist" in store.type and "_sync" in store.type:
            samples *= store.num_workers
        optimizer = self._made_optimizer(optimizer, optimizer_params, 1.0 / samples, on_store)
        self._optimizer, self._kvstore, self._update_on_kvstore, self._updater = optimizer, store, on_store, None
        if store:
            if self._compression_params:
                store.set_gradient_compression(self._compression_params)
            if on_store:
                store.set_optimizer(optimizer)
            _initialize_kvstore(store, self._exec_group.param_arrays, self._arg_params, self._param_names, on_store)
        if not on_store:
            self._updater = opt.get_updater(optimizer)
        self.optimizer_initialized = True
        if self._preload_opt_states is not None:
            self.load_optimizer_states(self._preload_opt_states)
            self._preload_opt_states = None

    def _made_optimizer(self, optimizer: Any, params: Any, rescale_grad: float, on_store: bool) -> Any:
        """An Optimizer that maps the indices of updates to the parameters' names."""
        count = 1 if on_store else len(self._context)
        names = {i * count + k: name for i, name in enumerate(self._param_names) for k in range(count)}
        if isinstance(optimizer, str):
            options = {"rescale_grad": rescale_grad, **dict(params)}
            return opt.create(optimizer, sym=self.symbol, param_idx2name=names, **options)
        assert isinstance(optimizer, opt.Optimizer)
        if optimizer.rescale_grad != rescale_grad:
            warnings.warn(
                "Optimizer created manually outside Module but rescale_grad is not normalized to "
                f"1.0/batch_size/num_workers ({optimizer.rescale_grad} vs. {rescale_grad}). Is this intended?",
                stacklevel=4,
            )
        if not optimizer.idx2name:
            optimizer.idx2name = names
        return optimizer

    def borrow_optimizer(self, shared_module: Any) -> None:
        """Uses optimizer and store of another Module."""
        shared_module._need("optimizer_initialized")
        self._optimizer = shared_module._optimizer
        self._kvstore = shared_module._kvstore
        self._update_on_kvstore = shared_module._update_on_kvstore
        self._updater = shared_module._updater
        self.optimizer_initialized = True

    def save_optimizer_states(self, fname: str) -> None:
        """Writes the states of the optimizer to a file."""
        self._need("optimizer_initialized")
        if self._update_on_kvstore:
            self._kvstore.save_optimizer_states(fname)
        else:
            with replacing(fname) as out:
                out.write(self._updater.get_states())

    def load_optimizer_states(self, fname: str) -> None:
        """Reads what `save_optimizer_states` wrote."""
        self._need("optimizer_initialized")
        if self._update_on_kvstore:
            self._kvstore.load_optimizer_states(fname)
        else:
            self._updater.load(fname)

    # ---- running ----

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Runs a batch, or a list with one for each context; other shapes than those bound are taken too."""
        self._need("binded", "params_initialized")
        if isinstance(data_batch, list):
            assert data_batch, "Encountered empty data batch"
            first = [x.shape for x in data_batch[0].data]
            for batch in data_batch:
                assert [x.shape for x in batch.data] == first, "All data batches in a list need to have the same shape"
            shapes = [(len(data_batch) * s[0], *s[1:]) for s in first]
        else:
            shapes = [tuple(x.shape) for x in data_batch.data]
        if [tuple(x.shape) for x in self._data_shapes] != shapes:
            self._reshape_for(data_batch, shapes)
        self._exec_group.forward(data_batch, is_train)

    def _reshape_for(self, batch: Any, shapes: list[tuple[int, ...]]) -> None:
        data_shapes = getattr(batch, "provide_data", None) or [
            DataDesc(x.name, s, x.dtype, x.layout) for x, s in zip(self._data_shapes, shapes, strict=False)
        ]
        label_shapes = getattr(batch, "provide_label", None)
        labels = getattr(batch, "label", None)
        if not label_shapes:
            label_shapes = None
            if labels:
                label_shapes = [
                    DataDesc(x.name, y.shape, x.dtype, x.layout)
                    for x, y in zip(self._label_shapes, labels, strict=False)
                ]
        self.reshape(data_shapes, label_shapes)

    def backward(self, out_grads: Any = None) -> None:
        """See BaseModule.backward."""
        self._need("binded", "params_initialized")
        self._exec_group.backward(out_grads=out_grads)

    def update(self) -> None:
        """See BaseModule.update."""
        self._need("binded", "params_initialized", "optimizer_initialized")
        self._params_dirty = True
        group = self._exec_group
        if self._update_on_kvstore:
            _update_params_on_kvstore(group.param_arrays, group.grad_arrays, self._kvstore, group.param_names)
        else:
            _update_params(
                group.param_arrays,
                group.grad_arrays,
                updater=self._updater,
                num_device=len(self._context),
                kvstore=self._kvstore,
                param_names=group.param_names,
            )

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """See BaseModule.update_metric."""
        self._exec_group.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Any) -> None:
        """See BaseModule.install_monitor."""
        self._need("binded")
        self._exec_group.install_monitor(mon)

    def prepare(self, data_batch: Any, sparse_row_id_fn: Any = None) -> None:
        """See BaseModule.prepare: `sparse_row_id_fn(batch)` gives a dict of name to rows, which are pulled."""
        self._need("binded")
        if sparse_row_id_fn is None:
            return
        if not self._kvstore or not self._update_on_kvstore:
            warnings.warn(
                "Parameters are not updated in the KVStore. No need to call sparse_row_id_fn.",
                UserWarning,
                stacklevel=2,
            )
            return
        row_ids = sparse_row_id_fn(data_batch)
        assert isinstance(row_ids, dict), "Expected dict output from sparse_row_id_fn"
        for name, rows in row_ids.items():
            number = self._exec_group.param_names.index(name)
            arrays = self._exec_group.param_arrays[number]
            if arrays[0].stype != "row_sparse":
                warnings.warn(
                    f"{name}.stype is not 'row_sparse'. No need to perform row_sparse_pull.", UserWarning, stacklevel=2
                )
            else:
                self._kvstore.row_sparse_pull(name, arrays, row_ids=rows, priority=-number)
