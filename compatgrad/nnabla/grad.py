"""nn.grad: gradients as new functions of the graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch

from compatgrad import _C
from compatgrad.core import bridge
from compatgrad.core.backprop import follow
from compatgrad.nnabla._declare import Info
from compatgrad.nnabla._frontend import fe
from compatgrad.nnabla._nd_array import NdArray
from compatgrad.nnabla.backward_functions import registry  # noqa: F401 - programs import it from here, too
from compatgrad.nnabla.functions import add_n, constant, sink
from compatgrad.nnabla.variable import Variable, _around

__all__ = ["grad"]

_KINDS = "`None`, `int`, `float`, `numpy.ndarray`, `nnabla.NdArray` or `nnabla.Variable`"


def _variables(given: Any, name: str) -> list[Any]:
    values = [given] if isinstance(given, _C.Variable) or not isinstance(given, Iterable) else list(given)
    for i, v in enumerate(values):
        if not isinstance(v, _C.Variable):
            raise ValueError(f"Element of {name} must be `nnabla.Variable`: {name}[{i}] is {type(v).__name__}.")
    return values


def _entered(y: Any) -> Variable:
    return y if isinstance(y, Variable) else bridge.cross(y, fe)


class _End:
    """The start of a gradient: ones that depend on the output, so that the graph of the gradient contains the
    output."""

    on_arrays, saves, integers = 0, 0, 0

    def infer(self, shapes: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        return shapes

    def forward(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        return [torch.ones_like(tensors[0])]

    forward_again = forward

    def backward(self, inputs: Any, outputs: Any, gradients: Any, wanted: list[bool]) -> list[None]:
        return [None]

    gradient = backward


def _start(output: Variable, given: Any, i: int) -> Variable:
    if not isinstance(given, (type(None), int, float, np.number, np.ndarray, NdArray, Variable)):
        raise ValueError(f"Element of `grad_outputs` must be {_KINDS}: grad_outputs[{i}] is {type(given).__name__}.")
    if isinstance(given, (np.ndarray, NdArray, Variable)) and given.shape != output.shape:
        raise ValueError(
            f"Each of grad_outputs must have the shape of its output: grad_outputs[{i}] has "
            f"{given.shape}, outputs[{i}] has {output.shape}."
        )
    (end,) = _C.apply_host(fe, _End(), [output], Info("GradEndFunction", {}))
    end.need_grad = False
    if given is None:
        return end
    if isinstance(given, Variable):
        return end * given
    if isinstance(given, NdArray):
        return end * _around(given, need_grad=False)
    v = Variable(output.shape, False)
    v.d = given
    return end * v


def grad(
    outputs: Variable | Iterable[Variable],
    inputs: Variable | Iterable[Variable],
    grad_outputs: Any = None,
    persistent_outputs: Sequence[bool] = (),
    bind_grad_output: bool = False,
) -> list[Variable]:
    """The gradients of the sum of `outputs` with respect to each of `inputs`, as Variables of the same graph. They are
    computed by the next `forward`, or at once in auto-forward mode, and can be differentiated again, to any order. For
    an input on which no output depends the result is zeros, which are not connected with the graph.

    Args:
        outputs: a Variable, or several.
        inputs: a Variable, or several; a Variable that shares its arrays with a parameter of the graph stands for this
            parameter.
        grad_outputs: for each output None (ones), a number, an array or NdArray of its shape, or a Variable, to which
            gradients flow, too.
        persistent_outputs: for each output, whether it becomes persistent; by default all do.
        bind_grad_output: whether the array of each gradient becomes the `grad` of the input.

    Returns:
        A Variable for each input, of its shape.

    Raises:
        ValueError: an element has the wrong type, a length or a shape differs, or `bind_grad_output` is set for an
            input of another framework.

    Example:
        >>> x = nn.Variable((2,), need_grad=True)
        >>> (gx,) = nn.grad([F.sum(x ** 3)], [x])
        >>> (ggx,) = nn.grad([F.sum(gx)], [x])
        >>> x.d = [1, 2]
        >>> ggx.forward()
        >>> gx.d, ggx.d
        (array([ 3., 12.], dtype=float32), array([ 6., 12.], dtype=float32))

    Source: `nnabla.grad` of nnabla 1.39.0.
    """
    ys, xs = [_entered(y) for y in _variables(outputs, "outputs")], _variables(inputs, "inputs")
    for i, x in enumerate(xs if bind_grad_output else ()):
        if not isinstance(x, Variable):
            raise ValueError(
                f"bind_grad_output: inputs[{i}] is of {x._frontend.name}, whose gradients are not arrays of nnabla"
            )
    if grad_outputs is None:
        starts: list[Any] = [None] * len(ys)
    elif isinstance(grad_outputs, (list, tuple)):
        starts = list(grad_outputs)
    else:
        starts = [grad_outputs]
    if len(starts) != len(ys):
        raise ValueError(f"Each output needs one of grad_outputs: {len(starts)} for {len(ys)} outputs.")
    gys = [_start(y, g, i) for i, (y, g) in enumerate(zip(ys, starts, strict=True))]
    flags = list(persistent_outputs)
    if flags and len(flags) != len(ys):
        raise ValueError(f"Each output needs one of persistent_outputs: {len(flags)} for {len(ys)} outputs.")
    for y, flag in zip(ys, flags or [True] * len(ys), strict=True):
        y.persistent = flag

    # An output may be given twice; its gradients are added.
    unique: dict[int, int] = {}
    roots: list[Variable] = []
    sums: list[Variable] = []
    for y, g in zip(ys, gys, strict=True):
        if id(y) in unique:
            sums[unique[id(y)]] = sums[unique[id(y)]] + g
        else:
            unique[id(y)] = len(roots)
            roots.append(y)
            sums.append(g)

    places = _C.find_inputs(roots, xs)
    wanted = [p for found in places for p in found if (p.need_grad if isinstance(p, Variable) else p.requires_grad)]
    gxs = _C.grad(fe, roots, wanted, sums, enable_double_backprop=True) if wanted else []
    by_place = {id(p): g for p, g in zip(wanted, gxs, strict=True)}
    results = []
    for x, found in zip(xs, places, strict=True):
        parts = [g for g in (by_place.get(id(p)) for p in found) if g is not None]
        results.append(_sum(parts) if parts else _zeros(x))
        if bind_grad_output:
            x.grad = results[-1].data
            for p in found:
                p.grad = results[-1].data
    return results


class Grad:
    """`grad` as a callable object.

    Example:
        >>> from compatgrad.nnabla.grad import Grad
        >>> x = nn.Variable.from_numpy_array(np.array([1.0, 2.0]), need_grad=True)
        >>> (gx,) = Grad()([F.sum(x ** 3)], [x])
        >>> gx.forward()
        >>> gx.d
        array([ 3., 12.], dtype=float32)

    Source: `nnabla.grad.Grad` of nnabla 1.39.0.
    """

    def __call__(
        self,
        outputs: Any,
        inputs: Any,
        grad_outputs: Any = None,
        persistent_outputs: Sequence[bool] = (),
        bind_grad_output: bool = False,
    ) -> list[Variable]:
        return grad(outputs, inputs, grad_outputs, persistent_outputs, bind_grad_output)


def _sum(parts: list[Variable]) -> Variable:
    if len(parts) == 1:
        return parts[0]
    return add_n(*parts)


def _zeros(x: Variable) -> Variable:
    return constant(0, x.shape)


def _backward(outputs: Any, grad_outputs: Any = None, clear_buffer: bool = False, **kwargs: Any) -> None:
    """`Variable.backward` of one output, or of several together."""
    ys = [_entered(y) for y in _variables(outputs, "outputs")]
    given = grad_outputs if isinstance(grad_outputs, (list, tuple)) else [grad_outputs] * len(ys)
    if len(given) != len(ys):
        raise ValueError(f"grad_outputs must be as long as outputs: {len(given)} != {len(ys)}")
    if len(ys) == 1:
        ys[0].backward(1 if given[0] is None else given[0], clear_buffer=clear_buffer, **kwargs)
        return
    for y, g in zip(ys, given, strict=True):
        y.grad.fill(1) if g is None else y.grad.copy_from(NdArray.from_numpy_array(np.asarray(g)))
    end = sink(*ys, one_input_grad=False)
    end.forward(clear_no_need_grad=False)
    end.backward(clear_buffer=clear_buffer, **kwargs)


follow("nnabla", grad=grad, backward=_backward)
