"""Ready-made tests of an element-wise function of one variable."""

from __future__ import annotations

import unittest
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from compatgrad.chainer import function, functions, gradient_check, variable
from compatgrad.chainer.backends import cuda
from compatgrad.chainer.testing import array, attr, parameterized

is_available = attr.is_available
check_available = attr.check_available


def _make_data_default(shape, dtype):
    """Draw x, gy and ggx from [-1, 1)."""
    return tuple(np.random.uniform(-1, 1, shape).astype(dtype, copy=False) for _ in range(3))


def _default_options(dtype):
    """Options of the forward, backward and double backward checks."""
    if dtype == np.float16:
        eps = float(np.finfo(np.float16).eps)
        forward = {"atol": eps, "rtol": eps}
        backward = {"eps": 2**-4, "atol": 2**-4, "rtol": 2**-4, "dtype": np.float64}
    else:
        forward = {"atol": 1e-4, "rtol": 1e-4}
        backward = {"dtype": np.float64, "atol": 1e-4, "rtol": 1e-4}
    return forward, backward, dict(backward)


def _nonlinear(func):
    def squared(x):
        y = func(x)
        return y * y

    return squared


def unary_math_function_unittest(
    func: Any,
    func_expected: Callable[..., Any] | None = None,
    label_expected: str | None = None,
    make_data: Callable[..., Any] | None = None,
    is_linear: bool | None = None,
    forward_options: dict[str, Any] | None = None,
    backward_options: dict[str, Any] | None = None,
    double_backward_options: dict[str, Any] | None = None,
) -> Callable[[Any], Any]:
    """Makes a decorator that adds tests of an element-wise function of one Variable to a class: forward, backward,
    double backward and label, for float16, float32 and float64 and the shapes (3, 2) and ().

    Args:
        func: the function, or an old-style `Function`.
        func_expected: function of an array and `dtype`; None is NumPy's function of the same name.
        label_expected: label of the function; None is its name.
        make_data: function of shape and dtype that returns the arrays x, gy and ggx (x and gy for an old-style
            function); None draws from [-1, 1).
        is_linear: deprecated, with a DeprecationWarning.
        forward_options: keyword arguments of `assert_allclose` that replace the defaults.
        backward_options: keyword arguments of `gradient_check.check_backward`.
        double_backward_options: keyword arguments of `gradient_check.check_double_backward`.

    Returns:
        The decorator.

    Raises:
        RuntimeError: pytest is not installed.
        ValueError: `func_expected` is None and NumPy has no function of the same name, or `label_expected` is given and
            Chainer has no function class of that name.

    Example:
        @testing.unary_math_function_unittest(F.exp)
        class TestExp(unittest.TestCase):
            pass

    Source: `chainer.testing.unary_math_function_unittest` of Chainer 7.8.1.
    """
    check_available()
    old_style = isinstance(func, function.Function)
    if old_style:
        name, func_class = type(func).__name__.lower(), type(func)
    else:
        name = func.__name__
        func_class = getattr(functions, name.capitalize(), None)

    if func_expected is None:
        func_expected = getattr(np, name, None)
        if func_expected is None:
            raise ValueError(f"NumPy has no functions corresponding to Chainer function '{name}'.")
    if label_expected is None:
        label_expected = name
    elif func_class is None:
        raise ValueError("Expected label is given even though Chainer function does not have its label.")
    if make_data is None:

        def make_data(shape, dtype):
            data = _make_data_default(shape, dtype)
            return data[:2] if old_style else data

    if is_linear is not None:
        warnings.warn("is_linear option is deprecated", DeprecationWarning, stacklevel=2)

    def decorator(klass):
        assert issubclass(klass, unittest.TestCase)
        for method in _make_methods(
            func,
            func_expected,
            make_data,
            old_style,
            is_linear,
            (forward_options, backward_options, double_backward_options),
        ):
            setattr(klass, method.__name__, method)

        if func_class is not None:

            def test_label(self):
                self.assertEqual(func_class().label, label_expected)

            klass.test_label = test_label

        return parameterized.parameterize(
            *parameterized.product(
                {
                    "shape": [(3, 2), ()],
                    "dtype": [np.float16, np.float32, np.float64],
                }
            )
        )(klass)

    return decorator


def _make_methods(func, func_expected, make_data, old_style, is_linear, options):
    def setUp(self):
        data = make_data(self.shape, self.dtype)
        self.x, self.gy = data[:2]
        if not old_style:
            self.ggx = data[2]
        defaults = _default_options(self.dtype)
        self.forward_options, self.backward_options, self.double_backward_options = (
            {**default, **(given or {})} for default, given in zip(defaults, options, strict=True)
        )

    def check_forward(self, x_data):
        y = func(variable.Variable(x_data))
        self.assertEqual(y.data.dtype, x_data.dtype)
        y_expected = func_expected(cuda.to_cpu(x_data), dtype=x_data.dtype)
        array.assert_allclose(y_expected, y.data, **self.forward_options)

    def test_forward_cpu(self):
        self.check_forward(self.x)

    @attr.gpu
    def test_forward_gpu(self):
        self.check_forward(cuda.to_gpu(self.x))

    def check_backward(self, x_data, y_grad):
        gradient_check.check_backward(func, x_data, y_grad, **self.backward_options)

    def test_backward_cpu(self):
        self.check_backward(self.x, self.gy)

    @attr.gpu
    def test_backward_gpu(self):
        self.check_backward(cuda.to_gpu(self.x), cuda.to_gpu(self.gy))

    def check_double_backward(self, x_data, y_grad, x_grad_grad):
        checked = _nonlinear(func) if is_linear else func
        gradient_check.check_double_backward(checked, x_data, y_grad, x_grad_grad, **self.double_backward_options)

    def test_double_backward_cpu(self):
        self.check_double_backward(self.x, self.gy, self.ggx)

    @attr.gpu
    def test_double_backward_gpu(self):
        self.check_double_backward(cuda.to_gpu(self.x), cuda.to_gpu(self.gy), cuda.to_gpu(self.ggx))

    methods = [
        setUp,
        check_forward,
        test_forward_cpu,
        test_forward_gpu,
        check_backward,
        test_backward_cpu,
        test_backward_gpu,
    ]
    if not old_style:
        methods += [check_double_backward, test_double_backward_cpu, test_double_backward_gpu]
    return methods
