"""Backend configurations, and the decorator that runs a test class under several of them."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable
from typing import Any

from compatgrad.chainer import backend
from compatgrad.chainer.backend import using_device
from compatgrad.chainer.configuration import using_config
from compatgrad.chainer.testing import _bundle, attr


class BackendConfig:
    """Where and how a test runs. As a context manager it sets the configuration and the current device.

    Args:
        params: values of `use_chainerx`, `chainerx_device`, `use_cuda`, `cuda_device`, `use_cudnn`,
            `cudnn_deterministic`, `autotune`, `cudnn_fast_batch_normalization` and `use_ideep`, which become
            attributes; the CPU is the default.

    Raises:
        TypeError: `params` is no dict.
        ValueError: `params` has another key.

    Example:
        >>> from compatgrad.chainer import testing
        >>> config = testing.BackendConfig({"autotune": True})
        >>> with config:
        ...     print(config.device, chainer.config.autotune)
        @numpy True

    Source: `chainer.testing.BackendConfig` of Chainer 7.8.1.
    """

    # This order is also the order of the values in the generated class names.
    _props = [
        ("use_chainerx", False),
        ("chainerx_device", None),
        ("use_cuda", False),
        ("cuda_device", None),
        ("use_cudnn", "never"),
        ("cudnn_deterministic", False),
        ("autotune", False),
        ("cudnn_fast_batch_normalization", False),
        ("use_ideep", "never"),
    ]
    _configured = ("use_cudnn", "cudnn_deterministic", "autotune", "use_ideep")
    _device = None

    def __init__(self, params: dict[str, Any]) -> None:
        if not isinstance(params, dict):
            raise TypeError("params must be a dict.")
        self._stacks = []
        values = dict(self._props)
        for key, value in params.items():
            if key not in values:
                raise ValueError(f"Parameter {key} is not defined")
            values[key] = value
        self.__dict__.update(values)
        if self.use_chainerx:
            assert isinstance(self.chainerx_device, str), "'chainerx_device' must be the name of a device"
        if self.use_cuda and self.cuda_device is None:
            self.cuda_device = 0

    @property
    def xp(self):
        """Array module of the device."""
        return self.device.xp

    @property
    def device(self):
        """The device; it is made when it is first read, so that a configuration can name a device that is not
        available."""
        if self._device is None:
            self._device = self._make_device()
        return self._device

    def _make_device(self):
        if self.use_cuda:
            return backend.GpuDevice.from_device_id(self.cuda_device)
        if self.use_chainerx:
            return backend.get_device(self.chainerx_device)
        if self.use_ideep != "never":
            return backend.Intel64Device()
        return backend.CpuDevice()

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            for key in self._configured:
                stack.enter_context(using_config(key, getattr(self, key)))
            stack.enter_context(using_device(self.device))
            self._stacks.append(stack.pop_all())
        return self

    def __exit__(self, typ, value, traceback):
        self._stacks.pop().__exit__(typ, value, traceback)

    def __repr__(self):
        return "<BackendConfig {}>".format(" ".join(f"{k}={getattr(self, k)!r}" for k, _ in self._props))

    def get_func_str(self) -> str:
        """The configuration as a part of a name."""

        def show(value):
            return str(value).lower() if isinstance(value, bool) else str(value)

        return "__".join(f"{k}_{show(getattr(self, k))}" for k, _ in self._props)

    def get_pytest_marks(self) -> list[Any]:
        """The marks of `attr` that a test under this configuration carries."""
        marks = []
        index = 0
        if self.use_chainerx:
            marks.append(attr.chainerx)
            name, _, number = self.chainerx_device.partition(":")
            if name == "cuda":
                marks.append(attr.gpu)
                index = int(number)
        elif self.use_cuda:
            marks.append(attr.gpu)
            if self.use_cudnn != "never":
                marks.append(attr.cudnn)
            index = self.cuda_device
        elif self.use_ideep != "never":
            marks.append(attr.ideep)
        if index >= 1:
            marks.append(attr.multi_gpu(index + 1))
        return marks

    def get_array(self, np_array: Any) -> Any:
        """A NumPy array, or a list or tuple of arrays, sent to the device."""
        return self.device.send(np_array)


def _without_second_argument(func):
    """The signature of a method without its first argument after self, which is passed by the wrapper: pytest treats
    the remaining arguments as fixtures."""
    signature = inspect.signature(func)
    params = list(signature.parameters.values())
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if len(params) >= 2 and params[1].kind in positional:
        del params[1]
    return signature.replace(parameters=params)


def _inject(config, method_names, method):
    if method_names is not None and method.__name__ not in method_names:
        return None

    @functools.wraps(method)
    def test(self, *args, **kwargs):
        return method(self, config, *args, **kwargs)

    test.__signature__ = _without_second_argument(method)
    for mark in config.get_pytest_marks():
        test = mark(test)
    return test


def inject_backend_tests(method_names: list[str] | None, params: list[dict[str, Any]]) -> Callable[[Any], Any]:
    """Makes a decorator that turns a test class into one for each backend configuration, which its test methods get
    after self.

    Args:
        method_names: names of the methods that take a configuration; other methods run once. None stands for all
            methods.
        params: the configurations, for `BackendConfig`.

    Returns:
        The decorator.

    Raises:
        TypeError: an argument has the wrong type.

    Example:
        @testing.inject_backend_tests(None, [{}, {"use_cuda": True}])
        class TestCopy(unittest.TestCase):
            def test_copy(self, backend_config):
                x = backend_config.get_array(np.zeros(3))
                ...

    Source: `chainer.testing.inject_backend_tests` of Chainer 7.8.1.
    """
    if not (method_names is None or isinstance(method_names, list)):
        raise TypeError("method_names must be either None or a list.")
    if not isinstance(params, list) or not all(isinstance(d, dict) for d in params):
        raise TypeError("params must be a list of dicts.")

    def generate(base):
        if method_names is not None:
            yield base.__name__, {}, lambda method: None if method.__name__ in method_names else method

        for param in params:
            config = BackendConfig(param)
            wrap = functools.partial(_inject, config, method_names)
            yield f"{base.__name__}_{config.get_func_str()}", {}, wrap

    return _bundle.make_decorator(generate)
