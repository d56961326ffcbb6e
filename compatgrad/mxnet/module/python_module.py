"""Modules whose computation is written in Python."""

from __future__ import annotations

import logging
from collections.abc import Callable
from operator import attrgetter
from typing import Any

from .. import ndarray as nd
from ..initializer import Uniform  # noqa: F401  programs find it here, as in MXNet
from .base_module import BaseModule

__all__ = ["PythonLossModule", "PythonModule"]


def _stored(name: str, doc: str) -> Any:
    """Makes a property that is stored under its name with an underscore."""
    return property(attrgetter(f"_{name}"), doc=doc)


class PythonModule(BaseModule):
    """A module without parameters, written in Python.

    A subclass defines `_compute_output_shapes`, `forward`, `backward`, `get_outputs` and `get_input_grads`.

    Args:
        data_names, label_names: names of data and labels, in their order; labels may be None.
        output_names: names of the outputs.
        logger: what logs, with the methods of the module `logging`.

    Raises:
        AssertionError: in `bind`, names differ, or a request is not "write".
        NotImplementedError: the subclass does not define what is called.

    Example:
        >>> class Twice(mx.mod.PythonModule):
        ...     def _compute_output_shapes(self): return [("output", self.data_shapes[0][1])]
        ...     def forward(self, data_batch, is_train=None): self.y = 2 * data_batch.data[0]
        ...     def get_outputs(self, merge_multi_context=True): return [self.y]
        >>> mod = Twice(["data"], None, ["output"])
        >>> mod.bind([("data", (2,))], for_training=False)
        >>> mod.forward(mx.io.DataBatch([nd.array([1, 2])]))
        >>> mod.get_outputs()[0].asnumpy()
        array([2., 4.], dtype=float32)

    Source: `mxnet.module.PythonModule` of MXNet 1.9.1.
    """

    def __init__(self, data_names: Any, label_names: Any, output_names: Any, logger: Any = logging) -> None:
        super().__init__(logger=logger)
        self._data_names = list(data_names)
        self._label_names = None if label_names is None else list(label_names)
        self._output_names = output_names
        self._data_shapes: Any = None
        self._label_shapes: Any = None
        self._output_shapes: Any = None

    data_names = _stored("data_names", "Names of the data.")
    output_names = _stored("output_names", "Names of the outputs.")
    data_shapes = _stored("data_shapes", "Shapes of the data, as they were bound.")
    label_shapes = _stored("label_shapes", "Shapes of the labels, as they were bound.")
    output_shapes = _stored("output_shapes", "Shapes of the outputs, once bound.")

    def get_params(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Two empty dicts."""
        return {}, {}

    def _init_params(self, initializer, arg_params, aux_params, allow_missing, force_init, allow_extra):
        """Does nothing: there are no parameters."""

    def _init_optimizer(self, kvstore, optimizer, optimizer_params, force_init):
        """Does nothing: there are no parameters."""

    def update(self) -> None:
        """Does nothing: there are no parameters."""

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Adds outputs and labels to a metric if there are labels; RuntimeError for a list for each context."""
        if self._label_shapes is None:
            return
        if pre_sliced:
            raise RuntimeError("PythonModule does not support presliced labels")
        eval_metric.update(labels, self.get_outputs())

    def _bind(self, data_shapes, label_shapes, for_training, inputs_need_grad, force_rebind, shared_module, grad_req):
        """Takes the shapes; AssertionError if their names are not those of the module."""
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        assert grad_req == "write", "Python module only support write gradient"
        assert [desc[0] for desc in data_shapes] == self._data_names, f"data_shapes must name {self._data_names}"
        if label_shapes is not None:
            assert self._label_names is not None, "label_shapes were given to a module without label_names"
            assert [desc[0] for desc in label_shapes] == self._label_names, (
                f"label_shapes must name {self._label_names}"
            )
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self._data_shapes, self._label_shapes = data_shapes, label_shapes
        self._output_shapes = self._compute_output_shapes()

    def _compute_output_shapes(self) -> Any:
        raise self._undefined("_compute_output_shapes")


class PythonLossModule(PythonModule):
    """A loss, whose output is its data, and whose gradient is a function in Python.

    Args:
        name: what the name of the output starts with.
        data_names, label_names: the name of the data and that of the labels, each in a list.
        logger: what logs, with the methods of the module `logging`.
        grad_func: function of scores and labels that gives the gradient of the scores; None if a subclass defines
            `_backward_impl`.

    Raises:
        AssertionError: there is more than one name, or `grad_func` is no function.
        NotImplementedError: in `backward`, there is no `grad_func`.

    Example:
        >>> loss = mx.mod.PythonLossModule(grad_func=lambda scores, labels: scores - labels)
        >>> loss.bind([("data", (2,))], [("softmax_label", (2,))])
        >>> loss.forward(mx.io.DataBatch([nd.array([1, 2])], [nd.array([0, 5])]))
        >>> loss.backward()
        >>> loss.get_input_grads()[0].asnumpy()
        array([ 1., -3.], dtype=float32)

    Source: `mxnet.module.PythonLossModule` of MXNet 1.9.1.
    """

    def __init__(
        self,
        name: str = "pyloss",
        data_names: Any = ("data",),
        label_names: Any = ("softmax_label",),
        logger: Any = logging,
        grad_func: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        assert len(data_names) == 1, f"data_names must have one name, not {len(data_names)}"
        assert len(label_names) == 1, f"label_names must have one name, not {len(label_names)}"
        assert grad_func is None or callable(grad_func), f"grad_func must be callable, not {type(grad_func).__name__}"
        super().__init__(data_names, label_names, [name + "_output"], logger=logger)
        self._name = name
        self._scores: Any = None
        self._labels: Any = None
        self._scores_grad: Any = None
        self._grad_func = grad_func

    def _compute_output_shapes(self) -> Any:
        return [(self._name + "_output", self._data_shapes[0][1])]

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Keeps the data, and the labels in training."""
        self._scores = data_batch.data[0]
        if self.for_training if is_train is None else is_train:
            self._labels = data_batch.label[0]

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """The data of the last `forward`."""
        assert merge_multi_context is True, "a PythonLossModule has one context: merge_multi_context must be True"
        return [self._scores]

    def backward(self, out_grads: Any = None) -> None:
        """Computes the gradient of the data; AssertionError for `out_grads`, which a loss does not take."""
        assert out_grads is None, "For a loss module, out_grads should be None"
        assert self.for_training, "backward wants a module that was bound with for_training=True"
        self._backward_impl()

    def _backward_impl(self) -> None:
        if self._grad_func is None:
            raise NotImplementedError("PythonLossModule: give grad_func, or define _backward_impl")
        grad = self._grad_func(self._scores, self._labels)
        self._scores_grad = grad if isinstance(grad, nd.NDArray) else nd.array(grad)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """The gradient of the data."""
        assert merge_multi_context is True, "a PythonLossModule has one context: merge_multi_context must be True"
        return [self._scores_grad]

    def install_monitor(self, mon: Any) -> None:
        """NotImplementedError: there is no executor."""
        raise NotImplementedError("PythonLossModule has no executor to watch")
