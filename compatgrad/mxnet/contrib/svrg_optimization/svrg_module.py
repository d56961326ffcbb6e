"""SVRGModule: a Module whose gradients have less variance."""

from __future__ import annotations

import logging
from typing import Any

from ... import context as contexts
from ... import ndarray as nd
from ... import optimizer as opt
from ...module import Module
from .svrg_optimizer import _SVRGOptimizer

__all__ = ["SVRGModule"]


class SVRGModule(Module):
    """A Module with stochastic variance reduced gradients.

    Every `update_freq` epochs the module copies its parameters, and computes the mean gradient of the copy over all
    data. From each batch's gradient that of the copy is subtracted, and the mean gradient is added.

    Args:
        symbol, data_names, label_names, logger, context, work_load_list, fixed_param_names, state_names: as in
            `mx.mod.Module`.
        group2ctxs, compression_params: as in `mx.mod.Module`.
        update_freq: number of epochs, at least 1.

    Raises:
        TypeError: `update_freq` is no int.
        ValueError: `update_freq` is below 1.

    Example:
        >>> y = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="fc")
        >>> y = mx.sym.LinearRegressionOutput(y, mx.sym.var("label"))
        >>> mod = mx.contrib.svrg_optimization.SVRGModule(y, label_names=["label"], update_freq=2)
        >>> data = mx.io.NDArrayIter(np.array([[1.0], [2.0]]), np.array([2.0, 4.0]), label_name="label")
        >>> mod.fit(data, eval_metric="mse", num_epoch=20, optimizer_params={"learning_rate": 0.2})
        >>> mod.get_params()[0]["fc_weight"].asnumpy().round(2)
        array([[2.]], dtype=float32)

    Source: `mxnet.contrib.svrg_optimization.SVRGModule` of MXNet 1.9.1; Johnson and Zhang, Accelerating Stochastic
        Gradient Descent using Predictive Variance Reduction, 2013.
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
        update_freq: int | None = None,
    ) -> None:
        if not isinstance(update_freq, int):
            raise TypeError(
                "update_freq in SVRGModule must be an integer to represent the frequency for calculating full "
                f"gradients, got {update_freq!r}"
            )
        if update_freq <= 0:
            raise ValueError(
                "update_freq in SVRGModule must be a positive integer to represent the frequency for calculating full "
                f"gradients, got {update_freq}"
            )
        options = (
            symbol, data_names, label_names, logger, context, work_load_list, fixed_param_names, state_names,
            group2ctxs, compression_params,
        )  # fmt: skip
        self._mod_aux = Module(*options)  # with the parameters of the last full gradients
        super().__init__(*options)
        self.update_freq = update_freq
        self._param_dict: Any = None  # the full gradients by name, for each context
        self._ctx_len = len(self._context)

    def _reset_bind(self) -> None:
        super()._reset_bind()
        self._mod_aux._reset_bind()

    def _bind(self, data_shapes, label_shapes, for_training, inputs_need_grad, force_rebind, shared_module, grad_req):
        """Binds the module, and for training the copy too."""
        options = (data_shapes, label_shapes, for_training, inputs_need_grad, force_rebind, shared_module, grad_req)
        super()._bind(*options)
        if for_training:
            self._mod_aux.bind(*options)

    def reshape(self, data_shapes: Any, label_shapes: Any = None) -> None:
        """See Module.reshape."""
        super().reshape(data_shapes, label_shapes=label_shapes)
        self._mod_aux.reshape(data_shapes, label_shapes=label_shapes)

    # ---- optimizer ----

    def _init_optimizer(self, kvstore, optimizer, optimizer_params, force_init):
        """Wraps the optimizer, so that the store can keep full gradients along with the parameters."""
        self._param_dict = [
            {name: nd.zeros(x.shape, ctx=ctx) for name, x in self.get_params()[0].items()} for ctx in self._context
        ]
        super()._init_optimizer(kvstore, optimizer, optimizer_params, force_init)
        if self._kvstore:
            for name in self._exec_group.param_names:
                self._kvstore.init(name + "_full", nd.zeros(self._arg_params[name].shape))

    def _made_optimizer(self, optimizer: Any, params: Any, rescale_grad: float, on_store: bool) -> Any:
        return self._create_optimizer(_SVRGOptimizer.__name__, optimizer, None, params, rescale_grad, on_store)

    def _create_optimizer(
        self,
        optimizer: Any,
        default_opt: Any,
        kvstore: Any,
        optimizer_params: Any,
        rescale_grad: float | None = None,
        on_store: bool = False,
    ) -> Any:
        """An `_SVRGOptimizer` that maps the indices of updates to names of parameters and of full gradients."""
        count = 1 if on_store else self._ctx_len
        names = {i * count + k: n for i, n in enumerate(self._exec_group.param_names) for k in range(count)}
        names.update(enumerate((name + "_full" for name in self._param_dict[0]), start=len(names)))
        if rescale_grad is None:
            rescale_grad = 1.0 / self._exec_group.batch_size
        options = {"rescale_grad": rescale_grad, **dict(optimizer_params)}
        return opt.create(optimizer, default_optimizer=default_opt, param_idx2name=names, **options)

    # ---- gradients ----

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Runs the module, and in training its copy."""
        super().forward(data_batch, is_train)
        if is_train:
            self._mod_aux.forward(data_batch, is_train)

    def backward(self, out_grads: Any = None) -> None:
        """Gradients of the module and of its copy."""
        super().backward(out_grads)
        if self._mod_aux.binded:
            self._mod_aux.backward(out_grads)

    def update(self) -> None:
        """Updates the parameters with the variance-reduced gradients."""
        self._update_svrg_gradients()
        super().update()

    def update_full_grads(self, train_data: Any) -> None:
        """Copies the parameters, and takes the mean of their gradients over all batches of a DataIter."""
        self._mod_aux.set_params(*self.get_params())
        train_data.reset()
        names = self._exec_group.param_names
        for own in self._param_dict:
            for name in names:
                own[name][:] = 0
        batches, padding = 0, 0
        for batch in train_data:
            self._mod_aux.forward(batch, is_train=True)
            self._mod_aux.backward()
            batches += 1
            padding = batch.pad or 0
            for name, grads in zip(names, self._mod_aux._exec_group.grad_arrays, strict=True):
                for own, grad in zip(self._param_dict, grads, strict=True):
                    own[name] += grad
        real = batches - padding / train_data.batch_size
        for name in names:
            for own in self._param_dict:
                own[name] /= real
            if self._kvstore:
                self._accumulate_kvstore(name, [own[name] for own in self._param_dict])

    def _accumulate_kvstore(self, key: str, value: list[Any]) -> None:
        """Has the store add up the gradients of all contexts and workers."""
        self._kvstore.push(key + "_full", value)
        self._kvstore._barrier()
        self._kvstore.pull(key + "_full", value)
        self._allocate_gradients(key, value)

    def _allocate_gradients(self, key: str, value: list[Any]) -> None:
        for own, total in zip(self._param_dict, value, strict=True):
            own[key] = total / self._ctx_len

    def _svrg_grads_update_rule(
        self, g_curr_batch_curr_weight: Any, g_curr_batch_special_weight: Any, g_special_weight_all_batch: Any
    ) -> Any:
        """Sets the first gradients, in place, to themselves minus those of the copy plus the full gradients."""
        for grad, special, full in zip(
            g_curr_batch_curr_weight, g_curr_batch_special_weight, g_special_weight_all_batch, strict=True
        ):
            grad -= special
            grad += full
        return g_curr_batch_curr_weight

    def _update_svrg_gradients(self) -> None:
        copies = self._mod_aux._exec_group.grad_arrays
        for i, name in enumerate(self._exec_group.param_names):
            fulls = [own[name] for own in self._param_dict]
            grads = self._exec_group.grad_arrays[i]
            if grads[0] is not None:
                self._svrg_grads_update_rule(grads, copies[i], fulls)

    def prepare(self, data_batch: Any, sparse_row_id_fn: Any = None) -> None:
        """See Module.prepare."""
        super().prepare(data_batch, sparse_row_id_fn=sparse_row_id_fn)
        self._mod_aux.prepare(data_batch, sparse_row_id_fn=sparse_row_id_fn)

    def _begin_epoch(self, train_data: Any, epoch: int) -> None:
        if epoch % self.update_freq == 0:
            self.update_full_grads(train_data)
        train_data.reset()
