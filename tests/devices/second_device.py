"""A second device for tests where there is no GPU: torch's PrivateUse1 device, in Python.

A tensor on it holds a CPU tensor; every call runs on those, and the results are put on the device again. As on a
GPU, mixing it with the CPU is an error, but for numbers, and only copies go from one to the other.
"""

import functools

import torch
from torch.utils import _pytree as pytree
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

NAME = "second"


def put(raw):
    """The tensor on the device whose values are those of the CPU tensor `raw`, its attribute."""
    tensor = torch._C._acc.create_empty_tensor(raw.shape, raw.dtype)
    tensor.raw = raw
    return tensor


def _setup():
    _setup_privateuseone_for_python_backend(NAME)
    library = torch.library.Library("_", "IMPL")
    library.fallback(_run, "PrivateUse1")
    aten = torch.library.Library("aten", "IMPL")
    for name, function in _OWN.items():
        aten.impl(name, function, "PrivateUse1")
    for name in _VIEWS.split():  # the strides are those of `raw`
        packet, _, overload = name.partition(".")
        function = getattr(getattr(torch.ops.aten, packet), overload or "default")
        aten.impl(name, functools.partial(_run, function), "PrivateUse1")
    return library, aten


def on_device(x):
    return isinstance(x, torch.Tensor) and x.device.type == NAME


def _raw(x):
    if isinstance(x, torch.device):
        return torch.device("cpu")
    return x.raw if on_device(x) else x


def _run(function, *args, **kwargs):
    given = pytree.tree_leaves((args, kwargs))
    for x in given:
        if isinstance(x, torch.Tensor) and x.device.type != NAME and x.dim():
            raise RuntimeError(f"{function}: expected all tensors on one device, got {x.device} and {NAME}:0")
    args, kwargs = pytree.tree_map(_raw, (args, kwargs))
    known = {id(x.raw): x for x in given if on_device(x)}
    result = function(*args, **kwargs)
    return pytree.tree_map(
        lambda y: known.get(id(y)) if id(y) in known else put(y) if isinstance(y, torch.Tensor) else y, result
    )


def _to_copy(x, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, memory_format=None):
    raw = x.raw if on_device(x) else x
    raw = raw.detach().to(dtype=dtype or x.dtype, copy=True)
    return raw if device is not None and device.type == "cpu" else put(raw)


def _copy_from(source, target, non_blocking=False):
    _raw(target).copy_(_raw(source))
    return target


def _copy_(target, source, non_blocking=False):
    return _copy_from(source, target)


def _empty(size, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    return put(torch.empty(size, dtype=dtype or torch.get_default_dtype()))


def _empty_strided(size, stride, dtype=None, layout=None, device=None, pin_memory=None):
    return put(torch.empty_strided(size, stride, dtype=dtype or torch.get_default_dtype()))


def _convolution(*args):
    return _run(torch.convolution, *args)


def _convolution_backward(gy, x, w, *args):
    *geometry, wanted = args
    return _run(torch.ops.aten.convolution_backward, gy, x, w, [w.shape[0]] if wanted[2] else None, *geometry, wanted)


_OWN = {
    "convolution_overrideable": _convolution,
    "convolution_backward_overrideable": _convolution_backward,
    "_to_copy": _to_copy,
    "_copy_from": _copy_from,
    "copy_": _copy_,
    "empty.memory_format": _empty,
    "empty_strided": _empty_strided,
}
_VIEWS = """
alias detach permute transpose.int t select.int slice.Tensor unsqueeze squeeze squeeze.dim squeeze.dims expand diagonal
unfold split.Tensor split_with_sizes unbind.int view _unsafe_view _reshape_alias clone as_strided contiguous
"""
_registered = _setup()
device = torch.device(NAME, 0)
