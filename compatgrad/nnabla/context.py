"""Contexts: on which device, and in which precision, functions and solvers run."""

import contextlib

import torch

from compatgrad import _C

from .logger import logger

__all__ = ["Context", "context_scope", "get_current_context", "set_default_context"]

_GPU_BACKENDS = ("cuda", "cudnn")


class Context:
    """Where to compute: `backend`, a list of "<device>:<type>" in order of preference, and a device id.

    backend: list of str, by default ["cpu:float"]; "cuda:..." and "cudnn:..." ask for a GPU, "...:half" for
        float16. array_class: str, kept for programs that read it. device_id: str, the GPU's number.
    """

    __slots__ = ("_backend", "array_class", "device_id", "__weakref__")

    def __init__(self, backend=None, array_class="", device_id="0"):
        self.backend = ["cpu:float"] if backend is None else backend
        self.array_class = array_class
        self.device_id = device_id

    @property
    def backend(self):
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


current_ctx = Context()
context_level = 0
_warned = False


def _switch(ctx):
    global current_ctx
    if not isinstance(ctx, Context):
        raise AttributeError(f'expected a Context, such as get_extension_context("cpu"), got {ctx!r}')
    device = device_of(ctx)  # says so where there is no GPU
    current_ctx = ctx
    _C.set_real_dtype(torch.float16 if is_half(ctx) else torch.float32)
    _C.set_real_device(device)


@contextlib.contextmanager
def context_scope(ctx):
    """Makes `ctx` the current context inside a `with` block."""
    global context_level
    previous = current_ctx
    _switch(ctx)
    context_level += 1
    try:
        yield
    finally:
        context_level -= 1
        _switch(previous)


def set_default_context(ctx):
    """Makes `ctx` the current context; AssertionError inside a `context_scope`."""
    assert context_level == 0, "set_default_context: cannot be called inside any context_scope"
    _switch(ctx)


def get_current_context():
    """The context that functions and solvers made now get."""
    return current_ctx


def device_of(ctx):
    """The torch device that `ctx` means: a GPU where one is asked for and present, else the CPU.

    Where a GPU is asked for and none is there, this is said once. RuntimeError for a GPU that does not exist.
    """
    global _warned
    first = ctx._backend[0].partition(":")[0] if ctx._backend else "cpu"
    if first not in _GPU_BACKENDS:
        return torch.device("cpu")
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if not count:
        if not _warned:
            _warned = True
            logger.warning("The context asks for %s, but there is no GPU: running on the CPU.", first)
        return torch.device("cpu")
    index = int(ctx.device_id or 0)
    if not 0 <= index < count:
        raise RuntimeError(f"Context: device_id '{ctx.device_id}' is out of range; there are {count} GPUs")
    return torch.device("cuda", index)


def is_half(ctx):
    """Whether `ctx` asks for float16."""
    return bool(ctx._backend) and ctx._backend[0].endswith("half")
