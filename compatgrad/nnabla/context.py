"""Contexts, which determine the device and the precision of functions and solvers."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import torch

from compatgrad import _C
from compatgrad.core import notes
from compatgrad.core.configuration import Settings, scope

from .logger import logger

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Context", "context_scope", "get_current_context", "set_default_context"]

_GPU_BACKENDS = ("cuda", "cudnn")


class Context:
    """The device and the precision of functions and solvers.

    Args:
        backend: "<device>:<type>" in order of preference, None for ["cpu:float"]; the first one counts. "cuda:..." and
            "cudnn:..." ask for a GPU, "...:half" for float16.
        array_class: has no effect; programs can read it.
        device_id: the GPU's number.

    Raises:
        TypeError: `backend` is not a sequence.

    Example:
        >>> context = nn.Context(["cpu:half", "cpu:float"])
        >>> context.backend, context.device_id
        (['cpu:half', 'cpu:float'], '0')

    Source: `nnabla.Context` of nnabla 1.39.0.
    """

    __slots__ = ("_backend", "array_class", "device_id", "__weakref__")

    def __init__(self, backend: Sequence[str] | None = None, array_class: str = "", device_id: str = "0") -> None:
        self.backend = ["cpu:float"] if backend is None else backend
        self.array_class = array_class
        self.device_id = device_id

    @property
    def backend(self) -> list[str]:
        """A new list of the backends in order of preference."""
        return list(self._backend)

    @backend.setter
    def backend(self, value):
        self._backend = tuple(value)

    def __getitem__(self, key):
        return getattr(self, key)

    def __repr__(self):
        return f"Context(backend={self.backend}, array_class='{self.array_class}', device_id='{self.device_id}')"

    def __reduce__(self):
        return Context, (self.backend, self.array_class, self.device_id)


_this_module = sys.modules[__name__]
current_ctx = Context()
context_level = 0
_warned = False


def _real(ctx):
    """The settings of the engine for a context: the device and the dtype of arrays."""
    if not isinstance(ctx, Context):
        raise AttributeError(f'expected a Context, such as get_extension_context("cpu"), got {ctx!r}')
    dtype = torch.float16 if is_half(ctx) else torch.float32
    return {"real_dtype": dtype, "real_device": device_of(ctx)}  # logs a message where there is no GPU


def _switch(ctx):
    global current_ctx
    real = _real(ctx)
    current_ctx = ctx
    _C.set_real_dtype(real["real_dtype"])
    _C.set_real_device(real["real_device"])


def context_scope(ctx: Context) -> scope:
    """Makes a context the current one inside a `with` block.

    Args:
        ctx: the context.

    Returns:
        A context manager.

    Raises:
        AttributeError: `ctx` is not a Context.
        RuntimeError: no GPU has the context's number.

    Example:
        >>> x = nn.Variable.from_numpy_array(np.ones(2))
        >>> with nn.context_scope(nn.Context(["cpu:half"])):
        ...     y = F.relu(x)
        ...     y.forward()
        ...     y.data.dtype
        dtype('float16')

    Source: `nnabla.context_scope` of nnabla 1.39.0.
    """

    def settings() -> Settings:
        level = (_this_module, "context_level", context_level + 1)
        return _real(ctx), ((_this_module, "current_ctx", ctx), level), None

    return scope(settings)


def set_default_context(ctx: Context) -> None:
    """Makes a context the current one for the rest of the program.

    Args:
        ctx: the context.

    Raises:
        AssertionError: the call is inside a `context_scope`.
        AttributeError: `ctx` is not a Context.
        RuntimeError: no GPU has the context's number.

    Example:
        >>> from compatgrad.nnabla.ext_utils import get_extension_context
        >>> before = nn.get_current_context()
        >>> nn.set_default_context(get_extension_context("cpu", type_config="half"))
        >>> nn.get_current_context().backend
        ['cpu:half', 'cpu:float']
        >>> nn.set_default_context(before)

    Source: `nnabla.set_default_context` of nnabla 1.39.0.
    """
    assert context_level == 0, "set_default_context: cannot be called inside any context_scope"
    _switch(ctx)


def get_current_context() -> Context:
    """The context of functions and solvers that are made at this point of the program.

    Returns:
        The context of the innermost `context_scope`, else the default one.

    Example:
        >>> with nn.context_scope(nn.Context(["cpu:float"], device_id="1")):
        ...     nn.get_current_context().device_id
        '1'

    Source: `nnabla.get_current_context` of nnabla 1.39.0.
    """
    return current_ctx


def device_of(ctx: Context) -> torch.device:
    """The torch device of a context: a GPU where the context asks for one and there is one, else the CPU. Where a
    context asks for a GPU and there is none, a message is logged once.

    Args:
        ctx: the context.

    Returns:
        The device.

    Raises:
        RuntimeError: there are GPUs, but none has the context's number.

    Example:
        >>> from compatgrad.nnabla.context import device_of
        >>> device_of(nn.Context(["cpu:float"]))
        device(type='cpu')

    Source: compatgrad's own.
    """
    global _warned
    first = ctx._backend[0].partition(":")[0] if ctx._backend else "cpu"
    if first not in _GPU_BACKENDS:
        return torch.device("cpu")
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if not count:
        notes.note_difference("no GPU")
        if not _warned:
            _warned = True
            logger.warning("The context asks for %s, but there is no GPU: running on the CPU.", first)
        return torch.device("cpu")
    index = int(ctx.device_id or 0)
    if not 0 <= index < count:
        raise RuntimeError(f"Context: device_id '{ctx.device_id}' is out of range; there are {count} GPUs")
    return torch.device("cuda", index)


def context_on(device: torch.device) -> Context:
    """A context for a torch device: the current one, if it is for this device, else a new one.

    Args:
        device: the CPU or a GPU.

    Returns:
        The context; for a GPU it has the backend "cudnn".

    Raises:
        AttributeError: `device` is not a device.

    Example:
        >>> from compatgrad.nnabla.context import context_on
        >>> context_on(torch.device("cpu")).backend
        ['cpu:float']

    Source: compatgrad's own.
    """
    if device_of(current_ctx) == device:
        return current_ctx
    if device.type == "cpu":
        return Context()
    return Context(["cudnn:float", "cuda:float", "cpu:float"], "CudaCachedArray", str(device.index))


def is_half(ctx: Context) -> bool:
    """Whether a context asks for float16.

    Args:
        ctx: the context.

    Returns:
        True if its first backend is "...:half".

    Raises:
        AttributeError: `ctx` is not a Context.

    Example:
        >>> from compatgrad.nnabla.context import is_half
        >>> is_half(nn.Context(["cudnn:half", "cpu:float"]))
        True

    Source: compatgrad's own.
    """
    return bool(ctx._backend) and ctx._backend[0].endswith("half")
