"""`backward` and `grad`: backprop from several outputs, and gradients as values."""

from __future__ import annotations

from collections.abc import Callable

import torch

from compatgrad import _C

__all__ = ["backward", "compute_grad", "follow", "grad"]

# Frontend name -> its own `grad` and `backward`, which `compatgrad.grad` and `compatgrad.backward` follow.
_followed: dict[str, tuple[Callable, Callable]] = {}


def follow(frontend: str, *, grad: Callable, backward: Callable) -> None:
    """Makes `compatgrad.grad` and `compatgrad.backward` call these for outputs that belong to `frontend`."""
    _followed[frontend] = (grad, backward)


def _followed_by(args, kwargs):
    """The pair registered for the frontend of the outputs, or None for the native one."""
    outputs = args[0] if args else kwargs.get("outputs", kwargs.get("heads"))
    first = outputs[0] if isinstance(outputs, (tuple, list)) and outputs else outputs
    if not isinstance(first, _C.Variable):
        return None
    return _followed.get(first._frontend.name)


def _as_list(variables, what: str) -> list:
    if isinstance(variables, _C.Variable):
        return [variables]
    if not isinstance(variables, (list, tuple)):
        raise TypeError(f"{what} must be a Variable, a tuple or a list, not {type(variables)}")
    return list(variables)


def _check(variables: list, what: str, optional: bool = False) -> None:
    for v in variables:
        if not (isinstance(v, _C.Variable) or (optional and v is None)):
            raise TypeError(f"each of {what} must be a Variable{' or None' if optional else ''}, not {type(v)}")


def _gradients(given, count: int, what: str, of: str) -> list:
    """One Variable or None for each of `of`. TypeError or ValueError naming the argument `what`."""
    if given is None:
        return [None] * count
    gs = [given] if isinstance(given, (_C.Variable, torch.Tensor)) else given
    if not isinstance(gs, (list, tuple)):
        raise TypeError(f"{what} must be None, a Variable, a tuple or a list, not {type(gs)}")
    if len(gs) != count:
        raise ValueError(f"{what} must be as long as {of}: {len(gs)} != {count}")
    gs = [native_variable(g, requires_grad=False) if isinstance(g, torch.Tensor) else g for g in gs]
    _check(gs, what, optional=True)
    return gs


def grad(*args, **kwargs):
    """Gradients of `outputs` with respect to `inputs`, by the rules of the frontend that the outputs belong to.

    It takes what `chainer.grad`, `nnabla.grad` or `mxnet.autograd.grad` takes, positional and by keyword, and gives
    what they give; of outputs from several frontends the first one decides. For native Variables:

    ``grad(outputs, inputs, grad_outputs=None, grad_inputs=None, set_grad=False, retain_grad=False,
    enable_double_backprop=False, loss_scale=None)`` gives a list of Variables, None for an input that is not reached.
    `grad_outputs` (default: ones) and `grad_inputs` (added to the results) hold Variables, tensors or None.
    ``set_grad`` stores the results in the inputs' gradients, ``retain_grad`` those of intermediates in theirs; else no
    gradient changes. ``enable_double_backprop`` records the pass, so that results can be differentiated. Only functions
    between outputs and inputs run. TypeError and ValueError name the argument at fault.
    """
    followed = _followed_by(args, kwargs)
    return (_native_grad if followed is None else followed[0])(*args, **kwargs)


def _native_grad(
    outputs,
    inputs,
    grad_outputs=None,
    grad_inputs=None,
    set_grad: bool = False,
    retain_grad: bool = False,
    enable_double_backprop: bool = False,
    loss_scale: float | None = None,
) -> list:
    outputs, inputs = _as_list(outputs, "outputs"), _as_list(inputs, "inputs")
    _check(outputs, "outputs")
    _check(inputs, "inputs")
    gys = _gradients(grad_outputs, len(outputs), "grad_outputs", "outputs")
    gxs = _gradients(grad_inputs, len(inputs), "grad_inputs", "inputs")
    return compute_grad(
        _C.native_frontend,
        outputs,
        inputs,
        gys,
        gxs,
        set_grad,
        retain_grad,
        enable_double_backprop,
        loss_scale,
    )


def compute_grad(
    frontend,
    outputs,
    inputs,
    grad_outputs,
    grad_inputs,
    set_grad,
    retain_grad,
    enable_double_backprop,
    loss_scale,
):
    """`grad` on checked arguments, for all frontends; a None in `grad_outputs` stands for ones times
    `loss_scale`.
    """
    gys = []
    for y, gy in zip(outputs, grad_outputs, strict=True):
        if gy is None:
            ones = torch.ones_like(y.tensor)
            if loss_scale is not None:
                ones *= loss_scale
            gy = frontend.variable_class(ones, requires_grad=False)
        gys.append(gy)
    gxs = _C.grad(frontend, outputs, inputs, gys, grad_inputs, retain_grad, loss_scale, enable_double_backprop)
    if set_grad:
        for x, gx in zip(inputs, gxs, strict=True):
            if not isinstance(x, _C.DeferredVariable):
                x.grad_var = gx
            elif gx is not None:  # its gradient is an array
                x.grad.tensor = gx.tensor.clone()
    return gxs


def backward(*args, **kwargs) -> None:
    """Backprop from several outputs at once, to all leaves, by the rules of the frontend that the outputs belong to.

    It takes what `chainer.backward`, `mxnet.autograd.backward` or, output by output, `nnabla.Variable.backward` takes.
    For native Variables: ``backward(outputs, grad_outputs=None, *, enable_double_backprop=False)``; leaves accumulate.
    A gradient that is not given is the output's own, which is used up, or ones for an output of one element. ValueError
    without either.
    """
    followed = _followed_by(args, kwargs)
    (_native_backward if followed is None else followed[1])(*args, **kwargs)


def _native_backward(outputs, grad_outputs=None, *, enable_double_backprop: bool = False) -> None:
    outputs = _as_list(outputs, "outputs")
    _check(outputs, "outputs")
    gys = _gradients(grad_outputs, len(outputs), "grad_outputs", "outputs")
    start_backward(_C.native_frontend, outputs, gys, False, enable_double_backprop, None)


def start_backward(frontend, outputs, gys, retain_grad, enable_double_backprop, loss_scale) -> None:
    """Native `backward` on checked arguments."""
    starts, used = [], []
    for y, gy in zip(outputs, gys, strict=True):
        if gy is None:
            gy = y.grad_var
            if gy is not None:
                used.append((y, gy))
        if gy is None:
            if y.tensor.numel() != 1:
                raise ValueError(
                    f"an output of shape {tuple(y.shape)} has no gradient to start from: "
                    "pass grad_outputs or set its grad"
                )
            ones = torch.ones_like(y.tensor)
            if loss_scale is not None:
                ones *= loss_scale
            gy = frontend.variable_class(ones, requires_grad=False)
        starts.append(gy)
    for y, _ in used:
        y.cleargrad_()
    try:
        _C.backward(frontend, outputs, starts, retain_grad, loss_scale, enable_double_backprop)
    except BaseException:
        for y, gy in used:
            y.grad_var = gy
        raise


def unchain_backward(variable) -> None:
    """Cuts every function that `variable` was computed by out of the graph."""
    creator = variable.creator_node
    if creator is not None:
        creator._unchain_backward()


def native_variable(*args, **kwargs):
    return _C.native_frontend.variable_class(*args, **kwargs)
