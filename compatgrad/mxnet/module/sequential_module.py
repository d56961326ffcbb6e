"""SequentialModule: modules one after the other."""

from __future__ import annotations

import copy
import logging
from typing import Any

from ..initializer import Uniform  # noqa: F401  programs find it here, as in MXNet
from .base_module import BaseModule

__all__ = ["SequentialModule"]


class SequentialModule(BaseModule):
    """A chain of modules: each gets the outputs of the one before as its data; see `add`.

    Args:
        logger: what logs, with the methods of the module `logging`.

    Raises:
        AssertionError: the module is not in the state that a method needs, or two modules have a parameter of one name.

    Example:
        >>> first = mx.mod.Module(2 * mx.sym.var("data"), label_names=None)
        >>> second = mx.mod.Module(mx.sym.var("x") + 1, data_names=["x"], label_names=None)
        >>> mod = mx.mod.SequentialModule().add(first).add(second, auto_wiring=True)
        >>> mod.bind([("data", (2,))], for_training=False)
        >>> mod.init_params()
        >>> mod.forward(mx.io.DataBatch([nd.array([1, 2])]))
        >>> mod.get_outputs()[0].asnumpy()
        array([3., 5.], dtype=float32)

    Source: `mxnet.module.SequentialModule` of MXNet 1.9.1.
    """

    META_TAKE_LABELS = "take_labels"
    META_AUTO_WIRING = "auto_wiring"

    def __init__(self, logger: Any = logging) -> None:
        super().__init__(logger=logger)
        self._modules: list[Any] = []
        self._metas: list[dict[str, Any]] = []
        self._label_shapes: Any = None

    def add(self, module: Any, **kwargs: Any) -> SequentialModule:
        """Adds a module at the end, and returns itself.

        take_labels=True: the module gets the labels. auto_wiring=True: the outputs of the module before are matched
        with its data by position instead of by name.
        AssertionError for other keyword arguments.
        """
        for key in kwargs:
            assert key in (self.META_TAKE_LABELS, self.META_AUTO_WIRING), f'Unknown meta "{key}", a typo?'
        self._modules.append(module)
        self._metas.append(kwargs)
        self.binded = self.params_initialized = self.optimizer_initialized = False
        return self

    @property
    def data_names(self) -> list[str]:
        """Names of the first module's data."""
        return self._modules[0].data_names if self._modules else []

    @property
    def output_names(self) -> list[str]:
        """Names of the last module's outputs."""
        return self._modules[-1].output_names if self._modules else []

    @property
    def data_shapes(self) -> Any:
        """Shapes of the first module's data."""
        self._need("binded")
        return self._modules[0].data_shapes

    @property
    def label_shapes(self) -> Any:
        """Shapes of the labels, None if no module takes them."""
        self._need("binded")
        return self._label_shapes

    @property
    def output_shapes(self) -> Any:
        """Shapes of the last module's outputs."""
        self._need("binded")
        return self._modules[-1].output_shapes

    def get_params(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Parameters and states of all modules."""
        self._need("binded", "params_initialized")
        arg_params: dict[str, Any] = {}
        aux_params: dict[str, Any] = {}
        for module in self._modules:
            args, auxs = module.get_params()
            arg_params.update(args)
            aux_params.update(auxs)
        return arg_params, aux_params

    def _init_params(self, initializer, arg_params, aux_params, allow_missing, force_init, allow_extra):
        """Initializes all modules; AssertionError if two have a parameter of one name."""
        if self.params_initialized and not force_init:
            return
        assert self.binded, "call bind before initializing the parameters"
        for module in self._modules:
            module.init_params(initializer, arg_params, aux_params, allow_missing, force_init, allow_extra)
        known: tuple[dict[str, int], dict[str, int]] = ({}, {})
        for i, module in enumerate(self._modules):
            for owner, names in zip(known, module.get_params(), strict=True):
                for name in names:
                    assert name not in owner, (
                        f'Duplicated parameter names: name "{name}" in layer {i} ({type(module)}) is already used in '
                        f"layer {owner[name]} ({type(self._modules[owner[name]])})."
                    )
                    owner[name] = i
        self.params_initialized = True

    def _bind(self, data_shapes, label_shapes, for_training, inputs_need_grad, force_rebind, shared_module, grad_req):
        """Binds the modules one after the other."""
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        assert for_training or not inputs_need_grad, "inputs_need_grad is for modules that are bound for training"
        assert shared_module is None, "Shared module is not supported"
        assert self._modules, "Attempting to bind an empty SequentialModule"
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self.binded = True
        takes = [meta.get(self.META_TAKE_LABELS, False) for meta in self._metas]
        self._label_shapes = label_shapes if any(takes) else None
        shapes = data_shapes
        for i, (module, meta) in enumerate(zip(self._modules, self._metas, strict=True)):
            if meta.get(self.META_AUTO_WIRING, False):
                names = module.data_names
                assert len(names) == len(shapes), (
                    f"the module takes {len(names)} inputs; the one before it gives {len(shapes)} outputs"
                )
                shapes = [(name, shape) for name, (_, shape) in zip(names, shapes, strict=True)]
            module.bind(
                data_shapes=shapes,
                label_shapes=label_shapes if takes[i] else None,
                for_training=for_training,
                inputs_need_grad=bool(inputs_need_grad or (for_training and i > 0)),
                force_rebind=force_rebind,
                shared_module=None,
                grad_req=grad_req,
            )
            shapes = module.output_shapes

    def _init_optimizer(self, kvstore, optimizer, optimizer_params, force_init):
        """Gives each module its optimizer."""
        self._need("binded", "params_initialized")
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring.")
            return
        for module in self._modules:
            module.init_optimizer(kvstore, optimizer, optimizer_params, force_init)
        self.optimizer_initialized = True

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Runs the modules in their order."""
        self._need("binded", "params_initialized")
        batch = copy.copy(data_batch)
        for i, module in enumerate(self._modules):
            module.forward(batch, is_train=is_train)
            if i + 1 == len(self._modules):
                break
            batch.data = module.get_outputs()
            if hasattr(batch, "provide_data"):
                names = [desc[0] for desc in module.output_shapes]
                batch.provide_data = [(name, x.shape) for name, x in zip(names, batch.data, strict=True)]

    def backward(self, out_grads: Any = None) -> None:
        """Runs the modules backward, from the last to the first."""
        self._need("binded", "params_initialized")
        for i in reversed(range(len(self._modules))):
            self._modules[i].backward(out_grads=out_grads)
            if i:
                out_grads = self._modules[i].get_input_grads()

    def update(self) -> None:
        """Updates all modules."""
        self._need("binded", "params_initialized", "optimizer_initialized")
        for module in self._modules:
            module.update()

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """The last module's outputs."""
        self._need("binded", "params_initialized")
        return self._modules[-1].get_outputs(merge_multi_context=merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """The gradients of the first module's data."""
        self._need("binded", "params_initialized", "inputs_need_grad")
        return self._modules[0].get_input_grads(merge_multi_context=merge_multi_context)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Updates the metric with the outputs of the modules that take labels."""
        self._need("binded", "params_initialized")
        for module, meta in zip(self._modules, self._metas, strict=True):
            if meta.get(self.META_TAKE_LABELS, False):
                module.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Any) -> None:
        """Has a Monitor watch all modules."""
        self._need("binded")
        for module in self._modules:
            module.install_monitor(mon)
