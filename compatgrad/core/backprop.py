"""`backward` and `grad`: backprop from several outputs, and gradients as values."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

import torch

from compatgrad import _C
from compatgrad.core.passes import compute_grad, set_grads, start_backward

if TYPE_CHECKING:
    _V = TypeVar("_V", bound=_C.Variable)
    _Given: TypeAlias = _C.Variable | torch.Tensor | Sequence[_C.Variable | torch.Tensor | None] | None

__all__ = ["backward", "follow", "grad"]

# Frontend name -> its `grad` and `backward`, which `compatgrad.grad` and `compatgrad.backward` call.
_Call: TypeAlias = Callable[..., Any]
_followed: dict[str, tuple[_Call, _Call]] = {}


def follow(frontend: str, *, grad: _Call, backward: _Call) -> None:
    """Sets the functions that `compatgrad.grad` and `compatgrad.backward` call for outputs of a frontend. Each frontend
    calls this when it is imported.

    Args:
        frontend: name of the frontend.
        grad: its function `grad`.
        backward: its function `backward`.

    Raises:
        TypeError: an argument is missing.

    Example:
        backprop.follow("chainer", grad=grad, backward=backward)

    Source: `compatgrad/core/backprop.py`.
    """
    _followed[frontend] = (grad, backward)


def _followed_by(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[_Call, _Call] | None:
    """The pair registered for the frontend of the outputs, or None for native outputs."""
    outputs = args[0] if args else kwargs.get("outputs", kwargs.get("heads"))
    first = outputs[0] if isinstance(outputs, (tuple, list)) and outputs else outputs
    if not isinstance(first, _C.Variable):
        return None
    return _followed.get(first._frontend.name)


# Keywords of torch.autograd's functions and of `Tensor.backward`, and what to write instead of them.
_TORCH_WORDS = {
    "create_graph": "that is enable_double_backprop",
    "retain_graph": "leave it out: a graph is kept as long as it is used",
    "gradient": "that is grad_outputs of compatgrad.backward",
    "grad_tensors": "that is grad_outputs",
    "allow_unused": "leave it out: the gradient of an input that no path reaches is None",
    "materialize_grads": "leave it out: the gradient of an input that no path reaches is None",
    "dim": "that is axis",
    "keepdim": "that is keepdims",
    "inputs": "compatgrad.grad computes the gradients of selected Variables",
}


def torch_word(who: str, keywords: Iterable[str]) -> TypeError | None:
    """The error for a keyword that torch has and a function for native Variables does not.

    Args:
        who: the name of the function, with which the message begins.
        keywords: the keywords that it does not have.

    Returns:
        The error; None if no keyword is torch's.

    Raises:
        TypeError: `keywords` cannot be iterated over.

    Example:
        >>> from compatgrad.core.backprop import torch_word
        >>> print(torch_word("grad", ["create_graph"]))
        grad: create_graph is torch's; for native Variables that is enable_double_backprop

    Source: `compatgrad/core/backprop.py`.
    """
    for name in keywords:
        if name in _TORCH_WORDS:
            return TypeError(f"{who}: {name} is torch's; for native Variables {_TORCH_WORDS[name]}")
    return None


def _as_list(variables: Any, what: str) -> list[Any]:
    if isinstance(variables, (_C.Variable, torch.Tensor)):
        return [variables]
    if not isinstance(variables, (list, tuple)):
        raise TypeError(f"{what} must be a Variable, a tuple or a list, not {_kind(variables)}")
    return list(variables)


def _entered(outputs: list[Any]) -> list[Any]:
    """The outputs, with tensors that require torch's grad replaced by Variables that continue torch's graph."""
    return [native_variable(y) if isinstance(y, torch.Tensor) and y.requires_grad else y for y in outputs]


def _kind(value: object) -> str:
    hint = "; compute with compatgrad.Variable(tensor) from the start" if isinstance(value, torch.Tensor) else ""
    return f"{type(value)}{hint}"


def _check(variables: list[Any], what: str, optional: bool = False) -> None:
    for v in variables:
        if not (isinstance(v, _C.Variable) or (optional and v is None)):
            raise TypeError(f"each of {what} must be a Variable{' or None' if optional else ''}, not {_kind(v)}")


def _check_data(outputs: list[Any]) -> None:
    for i, y in enumerate(outputs):
        if y.tensor is None:
            raise ValueError(f"outputs[{i}] has no data and therefore no gradient: it was made without a tensor")


def _gradients(given: Any, variables: list[Any], what: str, of: str) -> list[Any]:
    """One Variable or None for each of `variables`. TypeError or ValueError that names the argument `what`."""
    count = len(variables)
    if given is None:
        return [None] * count
    gs = [given] if isinstance(given, (_C.Variable, torch.Tensor)) else given
    if not isinstance(gs, (list, tuple)):
        raise TypeError(f"{what} must be None, a Variable, a tuple or a list, not {type(gs)}")
    if len(gs) != count:
        raise ValueError(f"{what} must be as long as {of}: {len(gs)} != {count}")
    gs = [native_variable(g, requires_grad=False) if isinstance(g, torch.Tensor) else g for g in gs]
    _check(gs, what, optional=True)
    for i, (g, v) in enumerate(zip(gs, variables, strict=True)):
        if g is not None and tuple(g.shape) != tuple(v.shape):
            raise ValueError(f"{what}[{i}] has shape {tuple(g.shape)}, {of}[{i}] {tuple(v.shape)}")
    return gs


@overload
def grad(
    outputs: _C.Variable | Sequence[_C.Variable],
    inputs: _V | Sequence[_V],
    grad_outputs: _Given = None,
    grad_inputs: _Given = None,
    set_grad: bool = False,
    retain_grad: bool = False,
    enable_double_backprop: bool = False,
    loss_scale: float | None = None,
) -> list[_V | None]: ...
@overload
def grad(
    outputs: _C.Variable | Sequence[_C.Variable],
    inputs: Sequence[_V],
    grad_outputs: Any = None,
    *,
    persistent_outputs: Sequence[bool] = (),
    bind_grad_output: bool = False,
) -> list[_V]: ...
@overload
def grad(
    heads: _C.Variable | Sequence[_C.Variable],
    variables: _C.Variable | Sequence[_C.Variable],
    head_grads: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    train_mode: bool = True,
) -> Any: ...
def grad(*args: Any, **kwargs: Any) -> Any:
    """Gradients of outputs with respect to inputs, computed by `grad` of the frontend that the outputs belong to; if
    they belong to several frontends, the first output decides. For native Variables the signature is `grad(outputs,
    inputs, grad_outputs=None, grad_inputs=None, set_grad=False, retain_grad=False, enable_double_backprop=False,
    loss_scale=None)`. Only functions between outputs and inputs run.

    Args:
        *args: the arguments of `chainer.grad`, `nnabla.grad` or `mxnet.autograd.grad`. For native Variables: outputs,
        inputs: a Variable, or a list or tuple of them, of any shapes. Tensors that require torch's grad are accepted as
        well.
        grad_outputs: for each output the gradient to start from, a Variable or tensor of its shape; None stands for
            ones.
        grad_inputs: for each input a Variable or tensor of its shape that is added to its gradient, or None.
        set_grad: True stores the results in the inputs' gradients.
        retain_grad: True stores the gradients of intermediate Variables in them. If this and `set_grad` are False, the
            gradient of no Variable is changed.
        enable_double_backprop: True records the pass, so that the results can be differentiated.
        loss_scale: the factor of the ones that replace a None in `grad_outputs`.
        **kwargs: the same by keyword.

    Returns:
        The result of the frontend's function. For native Variables a list with one Variable for each input, of its
        shape and dtype, or None for an input that no path reaches; for a tensor a tensor. Two Variables made from one
        tensor are two leaves: a RuntimeWarning says so if the outputs were computed from the other one.

    Raises:
        TypeError: an argument is not a Variable; the message names it.
        ValueError: an output has no data, or a gradient has another shape; the message names it.

    Example:
        >>> import torch
        >>> import compatgrad
        >>> x = compatgrad.Variable(torch.tensor([1.0, 2.0]))
        >>> (gx,) = compatgrad.grad([(x**3).sum()], [x], enable_double_backprop=True)
        >>> gx.tensor
        tensor([ 3., 12.])
        >>> (ggx,) = compatgrad.grad([gx.sum()], [x])
        >>> ggx.tensor
        tensor([ 6., 12.])

    Source: `compatgrad/core/backprop.py`, `csrc/core/backprop.cpp`.
    """
    followed = _followed_by(args, kwargs)
    if followed is None and (error := torch_word("grad", kwargs.keys() - {"inputs"})) is not None:
        try:
            raise error
        finally:
            del error  # avoids a reference cycle of the error, its traceback and this frame
    return (_native_grad if followed is None else followed[0])(*args, **kwargs)


def _native_grad(
    outputs: _C.Variable | Sequence[_C.Variable],
    inputs: _C.Variable | Sequence[_C.Variable],
    grad_outputs: _Given = None,
    grad_inputs: _Given = None,
    set_grad: bool = False,
    retain_grad: bool = False,
    enable_double_backprop: bool = False,
    loss_scale: float | None = None,
) -> list[Any]:
    outputs, inputs = _entered(_as_list(outputs, "outputs")), _as_list(inputs, "inputs")
    _check(outputs, "outputs")
    if any(isinstance(x, torch.Tensor) for x in inputs):
        return _grad_beside_tensors(outputs, inputs, grad_outputs, grad_inputs, set_grad, retain_grad,
                                    enable_double_backprop, loss_scale)  # fmt: skip
    _check(inputs, "inputs")
    _check_data(outputs)
    gys = _gradients(grad_outputs, outputs, "grad_outputs", "outputs")
    gxs = _gradients(grad_inputs, inputs, "grad_inputs", "inputs")
    results = compute_grad(
        _C.native_frontend,
        outputs,
        inputs,
        gys,
        gxs,
        retain_grad=retain_grad,
        enable_double_backprop=enable_double_backprop,
        loss_scale=loss_scale,
    )
    for i, (x, gx) in enumerate(zip(inputs, results, strict=True)):
        if gx is None:
            _warn_of_a_twin(i, x, outputs)
        elif tuple(gx.shape) != tuple(x.shape):
            raise ValueError(
                f"the gradient of inputs[{i}] has shape {tuple(gx.shape)}, expected {tuple(x.shape)}: a user-defined "
                "backward on the path to it is wrong"
            )
    if set_grad:
        set_grads(inputs, results)
    return results


def _warn_of_a_twin(index: int, x: Any, outputs: Sequence[_C.Variable]) -> None:
    """Warns if no path reaches `x`, but the outputs were computed from another Variable of the same tensor."""
    t = x.tensor
    if t is None or x.creator_node is not None or not t.numel():
        return
    seen: set[Any] = set()
    functions = [y.creator_node for y in outputs]
    while functions:
        f = functions.pop()
        if f is None or f in seen:
            continue
        seen.add(f)
        for node in f.inputs or ():
            if not isinstance(node, _C.VariableNode):  # a node of a graph that runs later, which has its own leaves
                continue
            if node.creator_node is not None:
                functions.append(node.creator_node)
                continue
            twin = node.get_variable_or_none()
            other = None if node is x.node else node.tensor if twin is None else twin.tensor
            if other is not None and other.data_ptr() == t.data_ptr() and other.shape == t.shape:
                warnings.warn(
                    f"grad: no path leads to inputs[{index}]; the outputs were computed from another Variable on the "
                    "same tensor. Each Variable(tensor) is a separate leaf: pass the one that the outputs use",
                    RuntimeWarning,
                    stacklevel=4,
                )
                return


def _grad_beside_tensors(
    outputs: list[Any],
    inputs: list[Any],
    grad_outputs: _Given,
    grad_inputs: _Given,
    set_grad: bool,
    retain_grad: bool,
    enable_double_backprop: bool,
    loss_scale: float | None,
) -> list[Any]:
    """`grad` with inputs that are tensors of torch's graph: torch's pass, which goes through both graphs, computes
    their gradients."""
    for i, x in enumerate(inputs):
        if isinstance(x, torch.Tensor) and not x.requires_grad:
            raise TypeError(f"inputs[{i}] is a tensor that does not require torch's grad, so torch has not recorded it")
    _check([x for x in inputs if not isinstance(x, torch.Tensor)], "inputs")
    _check_data(outputs)
    gys = _gradients(grad_outputs, outputs, "grad_outputs", "outputs")
    gxs = _gradients(grad_inputs, inputs, "grad_inputs", "inputs")
    places = [i for i, x in enumerate(inputs) if isinstance(x, torch.Tensor)]
    others = [i for i in range(len(inputs)) if i not in places]
    results: list[Any] = [None] * len(inputs)
    if others:
        own = _native_grad(
            outputs, [inputs[i] for i in others], gys, [gxs[i] for i in others], set_grad, retain_grad,
            enable_double_backprop, loss_scale,
        )  # fmt: skip
        for i, g in zip(others, own, strict=True):
            results[i] = g
    with torch.enable_grad():
        left = _C.torch_leave(_C.native_frontend, outputs)
        starts = [
            torch.full_like(y, 1.0 if loss_scale is None else loss_scale)
            if g is None
            else _C.torch_leave(_C.native_frontend, [g])[0]
            for y, g in zip(left, gys, strict=True)
        ]
        reached = [i for i, y in enumerate(left) if y.requires_grad]
        found = torch.autograd.grad(
            [left[i] for i in reached], [inputs[i] for i in places], [starts[i] for i in reached],
            retain_graph=True, create_graph=enable_double_backprop, allow_unused=True,
        ) if reached else [None] * len(places)  # fmt: skip
        for i, g in zip(places, found, strict=True):
            more = gxs[i]
            if more is not None:
                (more,) = _C.torch_leave(_C.native_frontend, [more])
                g = more if g is None else g + more
            results[i] = g
            if set_grad:
                inputs[i].grad = g
    return results


_native_grad.__qualname__ = "grad"  # Python's messages about missing arguments begin with this name


def backward(*args: Any, **kwargs: Any) -> None:
    """Backpropagates from several outputs at once to all leaves, by the `backward` of the frontend that the outputs
    belong to. For native Variables the signature is `backward(outputs, grad_outputs=None, *,
    enable_double_backprop=False)`. The gradient of each leaf that requires one is added to the gradient that the leaf
    already has; a pass that fails changes no gradient.

    Args:
        *args: the arguments of `chainer.backward`, `mxnet.autograd.backward` or, for each output,
        `nnabla.Variable.backward`. For native Variables:
        outputs: a Variable or a tensor that requires torch's grad, or a list or tuple of them.
        grad_outputs: for each output the gradient to start from, a Variable or tensor of its shape. None stands for the
            gradient that the output already has, which is then cleared; without one, for ones, if the output has one
            element.
        enable_double_backprop: True records the pass, so that gradients (`grad_var`) can be differentiated.
        **kwargs: the same by keyword.

    Raises:
        TypeError: an argument is not a Variable; the message names it.
        ValueError: an output has no data or no gradient to start from, or a gradient has another shape; the message
            names it.

    Example:
        >>> import torch
        >>> import compatgrad
        >>> x = compatgrad.Variable(torch.tensor([1.0, 2.0]))
        >>> compatgrad.backward([x * x], [torch.tensor([1.0, 10.0])])
        >>> x.grad
        tensor([ 2., 40.])
        >>> compatgrad.backward([x.sum()])
        >>> x.grad
        tensor([ 3., 41.])

    Source: `compatgrad/core/backprop.py`, `csrc/core/backprop.cpp`.
    """
    followed = _followed_by(args, kwargs)
    if followed is None and (error := torch_word("backward", kwargs)) is not None:
        try:
            raise error
        finally:
            del error  # avoids a reference cycle of the error, its traceback and this frame
    (_native_backward if followed is None else followed[1])(*args, **kwargs)


def _native_backward(
    outputs: _C.Variable | Sequence[_C.Variable], grad_outputs: _Given = None, *, enable_double_backprop: bool = False
) -> None:
    outputs = _entered(_as_list(outputs, "outputs"))
    _check(outputs, "outputs")
    _check_data(outputs)
    gys = _gradients(grad_outputs, outputs, "grad_outputs", "outputs")
    start_backward(_C.native_frontend, outputs, gys, enable_double_backprop=enable_double_backprop)


_native_backward.__qualname__ = "backward"


def native_variable(*args: Any, **kwargs: Any) -> Any:
    """Makes a native Variable, for modules that cannot import the module with its class.

    Args:
        *args: arguments of `compatgrad.Variable`.
        **kwargs: its keyword arguments.

    Returns:
        The Variable.

    Raises:
        TypeError: an argument is wrong, as `compatgrad.Variable` says.

    Example:
        >>> import torch
        >>> from compatgrad.core.backprop import native_variable
        >>> native_variable(torch.ones(2), requires_grad=False).tensor
        tensor([1., 1.])

    Source: `compatgrad/core/backprop.py`.
    """
    return _C.native_frontend.variable_class(*args, **kwargs)
