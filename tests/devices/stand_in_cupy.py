"""A stand-in for CuPy and CUDA where there is no GPU, for one process: import it before compatgrad.

Stood in for: the arrays (`ndarray`, on the second device, with NumPy's arithmetic), devices, streams (numbers that are
written down), the allocator, the three kernel classes (which call a Python function instead of compiling), memoize,
and of torch: `cuda.is_available`, `cuda.current_stream`, the caching allocator and DLPack between the two.
"""

import functools
import sys
import types

import numpy as np
import torch

from tests.devices.second_device import put

assert "compatgrad" not in sys.modules, "compatgrad looks for CuPy when it is imported"

log = []  # (what happened, on which stream, ...)
torch_stream = [0]
running = []  # CuPy's stack of streams


class Stream:
    def __init__(self, ptr):
        self.ptr = ptr

    @classmethod
    def from_external(cls, stream):
        return cls(stream.__cuda_stream__()[1])

    def __enter__(self):
        running.append(self)

    def __exit__(self, *exc):
        assert running.pop() is self


class TorchStream:
    device_index = 0

    def __init__(self, pointer):
        self.cuda_stream = pointer

    def __cuda_stream__(self):
        return 0, self.cuda_stream


class Device:
    def __init__(self, device=None):
        self.id = 0 if device is None else int(device)

    def __eq__(self, other):
        return isinstance(other, Device) and self.id == other.id

    __hash__ = None

    def __int__(self):
        return self.id

    def __enter__(self):
        log.append(("device", self.id))

    def __exit__(self, *exc):
        pass

    def use(self):
        log.append(("use", self.id))


class ndarray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array on the second device: `tensor` has the values, `view` is NumPy's view of them."""

    __cuda_array_interface__ = {}
    device = Device(0)

    def __init__(self, tensor):
        self.tensor = tensor
        self.view = tensor.raw.numpy()

    def __getattr__(self, name):
        if name == "view" or name.startswith("__"):
            raise AttributeError(name)
        value = getattr(self.view, name)
        return wrapped(value) if callable(value) else value

    def __getitem__(self, index):
        return wrap(self.view[plain(index)])

    def __setitem__(self, index, value):
        self.view[plain(index)] = plain(value)

    def __len__(self):
        return len(self.view)

    def __bool__(self):
        return bool(self.view)

    def __array__(self, *args, **kwargs):
        raise TypeError("CuPy converts nothing to NumPy by itself")

    def __array_ufunc__(self, ufunc, method, *args, **kwargs):
        assert not any(isinstance(x, np.ndarray) and x.ndim for x in args), "CuPy and NumPy arrays in one call"
        return wrap(getattr(ufunc, method)(*plain(args), **plain(kwargs)))

    def __dlpack__(self, **kwargs):
        raise AssertionError("torch.from_dlpack is stood in for")

    def get(self, stream=None):
        return self.view.copy()

    def set(self, array):
        self.view[...] = array


def plain(x):
    if isinstance(x, ndarray):
        return x.view
    if isinstance(x, (tuple, list)):
        return type(x)([plain(item) for item in x])
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    return x


def wrap(x):
    if isinstance(x, (np.ndarray, np.generic)):
        return ndarray(put(torch.from_numpy(np.asarray(x))))
    return tuple([wrap(item) for item in x]) if isinstance(x, tuple) else x


def wrapped(function):
    return functools.wraps(function)(lambda *args, **kwargs: wrap(function(*plain(args), **plain(kwargs))))


class _Kernel:
    def __init__(self, *args, **kwargs):
        self.args, self.kwargs = args, kwargs
        log.append(("compiled", type(self).__name__, args))

    def __call__(self, *args, **kwargs):
        log.append(("kernel", current_stream().ptr, args))
        return wrap(bodies[self.args[-1 if type(self).__name__ != "RawKernel" else 1]](*plain(args), **plain(kwargs)))


class ElementwiseKernel(_Kernel):
    pass


class ReductionKernel(_Kernel):
    pass


class RawKernel(_Kernel):
    pass


bodies = {}  # what a kernel of a name computes


class PythonFunctionAllocator:
    def __init__(self, malloc, free):
        self.functions = malloc, free

    def malloc(self, size):
        return self.functions[0](size, 0)


def current_stream():
    return running[-1] if running else Stream(0)


def memoize(for_each_device=False):
    def decorate(f):
        memos.append({})
        memo = memos[-1]

        def call(*args, **kwargs):
            key = args, frozenset(kwargs.items())
            if key not in memo:
                memo[key] = f(*args, **kwargs)
            return memo[key]

        return functools.wraps(f)(call)

    return decorate


memos = []


def get_array_module(*args):
    return cupy if any(isinstance(x, ndarray) for x in args) else np


class Module(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(np, name)
        return wrapped(value) if callable(value) and not isinstance(value, type) else value


cupy = Module("cupy")
cuda = types.ModuleType("cupy.cuda")
allocators = []
vars(cuda).update(
    Device=Device, Event=object, Stream=Stream, PythonFunctionAllocator=PythonFunctionAllocator,
    get_current_stream=current_stream, set_allocator=allocators.append,
)  # fmt: skip
vars(cupy).update(
    cuda=cuda, ndarray=ndarray, ElementwiseKernel=ElementwiseKernel, ReductionKernel=ReductionKernel,
    RawKernel=RawKernel, memoize=memoize, clear_memo=lambda: [memo.clear() for memo in memos],
    get_array_module=get_array_module, get_default_pinned_memory_pool=object,
    array=lambda x, **kwargs: wrap(np.array(plain(x), **kwargs)),
    from_dlpack=ndarray, add=wrapped(np.add),
)  # fmt: skip
cupy.add.at = wrapped(np.add.at)
cupyx = types.ModuleType("cupyx")
cupyx.get_runtime_info = lambda: "CuPy Version: 0\nCUDA Root: None"
sys.modules.update({"cupy": cupy, "cupy.cuda": cuda, "cupyx": cupyx})

_from_dlpack = torch.from_dlpack
torch.from_dlpack = lambda x: x.tensor if isinstance(x, ndarray) else _from_dlpack(x)
torch.cuda.is_available = lambda: True
torch.cuda.device_count = lambda: 1
torch.cuda.current_stream = lambda device=None: TorchStream(torch_stream[0])
torch.cuda.get_device_capability = lambda device=None: (9, 0)
torch.cuda.caching_allocator_alloc = lambda size, device, stream: log.append(("malloc", size, device, stream)) or 4096
torch.cuda.caching_allocator_delete = lambda pointer: log.append(("free", pointer))
torch.backends.cudnn.is_available = lambda: False
