"""Gradients by finite differences, and checks of backward and double backward against them.

Mirrors Chainer 7.8.1's `chainer.gradient_check`. Directions are drawn from NumPy's global random stream.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy

from compatgrad.chainer import backend, configuration, functions, variable
from compatgrad.chainer._backprop import backward
from compatgrad.chainer.backends import cuda
from compatgrad.chainer.testing import array as _comparison

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from compatgrad.chainer.types import NdArray


class NondifferentiableError(Exception):
    """A numerical gradient was asked for at a point where the function looks non-differentiable.

    Example:
        >>> from compatgrad.chainer import gradient_check
        >>> x = np.array([0.0])
        >>> try:
        ...     gradient_check.numerical_grad(lambda: (abs(x),), (x,), (1.0,), detect_nondifferentiable=True)
        ... except gradient_check.NondifferentiableError as e:
        ...     print(str(e).splitlines()[0])
        Tried to compute the numeric gradient on a non-differentiable point.

    Source: `chainer.gradient_check.NondifferentiableError` of Chainer 7.8.1.
    """


def _as_tuple(xs):
    return tuple(xs) if isinstance(xs, (tuple, list)) else (xs,)


def _facts(arrays):
    """Shapes and dtypes in one line, for messages."""
    return ", ".join("None" if a is None else f"{a.shape}:{a.dtype}" for a in arrays)


def _report(title, **groups):
    """Makes a message: the title, then every array of every group, each on its own line."""
    lines = [title]
    for name, arrays in groups.items():
        lines.extend(f"{name}[{i}]:\n{a}" for i, a in enumerate(arrays))
    return "\n".join(lines)


# ---- numerical gradient ------------------------------------------------------------------------------------


def _evaluate(f):
    """The outputs of `f` as float64 copies; None if `f` returned None."""
    return [None if y is None else backend.get_array_module(y).array(y, numpy.float64) for y in f()]


def _sample(f, x, index, offsets):
    """The outputs of `f` with one element of `x` changed by each offset; no call for the offset None."""
    original = x[index].copy()
    samples = []
    try:
        for offset in offsets:
            x[index] = original + offset
            samples.append(_evaluate(f))
    finally:
        x[index] = original
    return samples


def _check_differentiable(samples, diff_atol, diff_rtol, describe):
    """Raises NondifferentiableError unless each output, sampled at five points, is close to a parabola."""
    outputs = [
        (i, numpy.stack([cuda.to_cpu(ys[i]) for ys in samples]))
        for i, y in enumerate(samples[0])
        if y is not None and y.size > 0
    ]
    all_finite = True
    for i, y in outputs:
        finite = numpy.isfinite(y)
        if (finite != finite[0]).any():
            raise NondifferentiableError(describe(i, y, "finite at some of the points only"))
        all_finite = all_finite and bool(finite.all())
    if not all_finite:
        return
    for i, y in outputs:
        points = len(samples)
        _, (residuals, *_) = numpy.polynomial.polynomial.polyfit(range(points), y.reshape(points, -1), 2, full=True)
        error = numpy.sqrt(residuals / points).reshape(y.shape[1:])
        low, high = y.min(axis=0), y.max(axis=0)
        tolerance = diff_atol + diff_rtol * (high - low)
        if ((error > tolerance) & (low != high)).any():
            fit = f"fitting errors: {error}\ntolerance {diff_atol} + {diff_rtol} * (max - min): {tolerance}"
            raise NondifferentiableError(describe(i, y, fit))


def numerical_grad(
    f: Callable[[], tuple[NdArray | None, ...]],
    inputs: Sequence[NdArray],
    grad_outputs: Sequence[NdArray | float | None],
    eps: float = 1e-3,
    detect_nondifferentiable: bool = False,
    diff_atol: float = 0,
    diff_rtol: float = 1e-2,
    center_outputs: Any = None,
) -> list[NdArray]:
    """Gradients of a function of arrays by central differences.

    Args:
        f: function without arguments that reads the arrays `inputs` and returns a tuple of arrays or None.
        inputs: tuple or list of floating arrays, which are changed and restored.
        grad_outputs: array, number or None for each output.
        eps: step.
        detect_nondifferentiable: True samples five points for each element and compares them with a parabola.
        diff_atol: largest allowed distance from the parabola.
        diff_rtol: the same, relative to the distance between their minimum and maximum.
        center_outputs: not used.

    Returns:
        List of arrays, of the shape and dtype of each input.

    Raises:
        NondifferentiableError: the points lie on no parabola.
        RuntimeError: an input is not floating, or arrays of the CPU and of the GPU are mixed.
        AssertionError: `eps` is not positive, `inputs` no tuple or list, or a shape does not fit.

    Example:
        >>> from compatgrad.chainer import gradient_check
        >>> x = np.array([1.0, 2.0])
        >>> (gx,) = gradient_check.numerical_grad(lambda: (x**2,), (x,), (np.ones(2),))
        >>> gx.round(4)
        array([2., 4.])

    Source: `chainer.gradient_check.numerical_grad` of Chainer 7.8.1.
    """
    assert eps > 0, f"eps must be positive, not {eps}"
    assert isinstance(inputs, (tuple, list)), f"inputs must be a tuple or a list of arrays, not {type(inputs).__name__}"
    for x in inputs:
        if x.dtype.kind != "f":
            raise RuntimeError(f"inputs must be arrays of floats, not {x.dtype}")
    gys = [g if g is None or numpy.isscalar(g) else g.astype(numpy.float64) for g in grad_outputs]
    arrays = [a for a in (*inputs, *gys) if a is not None and not numpy.isscalar(a)]
    if not backend.is_arrays_compatible(arrays):
        raise RuntimeError("inputs and grad_outputs mix GPU and CPU arrays")
    xp = backend.get_device_from_array(*arrays).xp
    offsets = (-eps, -eps / 2, eps / 2, eps) if detect_nondifferentiable else (-eps, eps)
    weights = (1, -8, 8, -1) if detect_nondifferentiable else (-1, 1)
    scale = (6 if detect_nondifferentiable else 2) * eps
    grads = []
    with configuration.using_config("type_check", False):
        center = _evaluate(f) if detect_nondifferentiable else None
        for i_in, x in enumerate(inputs):
            gx = xp.zeros(x.shape, numpy.float64)
            for index in numpy.ndindex(x.shape):
                samples = _sample(f, x, index, offsets)
                _check_samples(samples, gys)
                if detect_nondifferentiable:
                    points = [*samples[:2], center, *samples[2:]]

                    def describe(i_out, y, reason, i_in=i_in, x=x, index=index):
                        return (
                            "Tried to compute the numeric gradient on a non-differentiable point.\n\n"
                            f"input {i_in}, element {index}, output {i_out}, eps {eps}: {reason}\n"
                            f"x: {x}\ny at x - eps, x - eps / 2, x, x + eps / 2, x + eps:\n{y}"
                        )

                    _check_differentiable(points, diff_atol, diff_rtol, describe)
                for i_out, gy in enumerate(gys):
                    if gy is not None and samples[0][i_out] is not None:
                        difference = sum(w * ys[i_out] for w, ys in zip(weights, samples, strict=True))
                        gx[index] = gx[index] + (difference * gy).sum() / scale
            grads.append(gx)
    return [g.astype(x.dtype, copy=False) for g, x in zip(grads, inputs, strict=True)]


def _check_samples(samples, gys):
    for ys in samples:
        assert len(ys) == len(gys), f"f returned {len(ys)} outputs for {len(gys)} grad_outputs"
        for y, gy in zip(ys, gys, strict=True):
            assert gy is None or y is not None, "f returned None for an output that has a grad_output"
            assert gy is None or numpy.isscalar(gy) or y.shape == gy.shape, f"{y.shape} != {gy.shape}"


def assert_allclose(x: Any, y: Any, atol: float = 1e-5, rtol: float = 1e-4, verbose: bool = True) -> None:
    """Deprecated, with a DeprecationWarning: use `chainer.testing.assert_allclose`.

    Args:
        x: array or Variable.
        y: array or Variable.
        atol: absolute tolerance.
        rtol: relative tolerance, times `y`.
        verbose: True shows the arrays in the error.

    Raises:
        AssertionError: the arrays differ.

    Example:
        >>> from compatgrad.chainer import gradient_check
        >>> import warnings
        >>> with warnings.catch_warnings(record=True):
        ...     gradient_check.assert_allclose(np.array([1.0]), np.array([1.000001]))

    Source: `chainer.gradient_check.assert_allclose` of Chainer 7.8.1.
    """
    warnings.warn(
        "chainer.gradient_check.assert_allclose is deprecated. Use chainer.testing.assert_allclose instead.",
        DeprecationWarning,
        stacklevel=2,
    )
    _comparison.assert_allclose(x, y, atol, rtol, verbose)


# ---- backward ----------------------------------------------------------------------------------------------


def _check_outputs_and_grad_outputs(outputs, grad_outputs):
    text = f"Outputs: {_facts(outputs)}\nOutput gradients: {_facts(grad_outputs)}"
    if len(outputs) != len(grad_outputs):
        raise ValueError(f"There must be as many output gradients as outputs.\n{text}")
    for y, gy in zip(outputs, grad_outputs, strict=True):
        if gy is None or (y is None and (gy == 0).all()):
            continue
        if y is None or y.shape != gy.shape or y.dtype != gy.dtype:
            raise ValueError(f"Shapes and/or dtypes of outputs and output gradients do not match.\n{text}")


class _CheckBackward:
    """One comparison of the two gradients: both are derivatives along one random direction in the space of all inputs
    and parameters.
    """

    def __init__(
        self,
        func,
        xs,
        gys,
        params,
        eps,
        atol,
        rtol,
        no_gxs,
        dtype,
        detect_nondifferentiable,
        is_immutable_params,
    ):
        if dtype is not None and numpy.dtype(dtype).kind != "f":
            raise ValueError(f"`dtype` must be of float kind, not {dtype}")
        params = _as_tuple(params)
        if is_immutable_params and not all(isinstance(p, backend.get_array_types()) for p in params):
            kinds = ", ".join(str(type(p)) for p in params)
            raise ValueError(f"`params` must be arrays where `is_immutable_params` is True. Actual: {kinds}.")
        xs = _as_tuple(xs)
        if no_gxs is None:
            no_gxs = [None if x is None else x.dtype.kind != "f" for x in xs]
        elif len(no_gxs) != len(xs):
            raise ValueError(f"no_grads and x_data must have one length: {len(no_gxs)} != {len(xs)}")
        self.device = backend.get_device_from_array(*xs)
        self.func = func
        self.xs = xs
        self.gys = None if gys is None else _as_tuple(gys)
        self.params = params
        self.no_gxs = no_gxs
        self.eps = eps
        self.atol = atol
        self.rtol = rtol
        self.dtype = dtype
        self.detect_nondifferentiable = detect_nondifferentiable
        self.is_immutable_params = is_immutable_params

    def run(self):
        with backend.using_device(self.device):
            xs, ys, params = self._forward()
            self._set_grad_outputs(ys)
            directions = self._sample_directions()
            actual = self._backward_gradient(xs, ys, params, directions)
            expected = self._numeric_gradient(directions)
            self._compare(expected, actual, directions)

    def _call(self, xs, params):
        return _as_tuple(self.func(xs, params) if self.is_immutable_params else self.func(*xs))

    def _forward(self):
        xs = [None if x is None else variable.Variable(x, requires_grad=x.dtype.kind == "f") for x in self.xs]
        params = self.params
        if self.is_immutable_params:
            params = tuple([variable.Parameter(p) for p in params])
        ys = self._call(xs, params)
        _clear_grads(xs)
        _clear_grads(params)
        return xs, ys, params

    def _set_grad_outputs(self, ys):
        if self.gys is not None:
            _check_outputs_and_grad_outputs(ys, self.gys)
        elif len(ys) == 1 and ys[0].shape == ():
            self.gys = (ys[0].xp.ones_like(ys[0].array),)
        else:
            shapes = ", ".join(str(y.shape) for y in ys)
            raise ValueError(
                "y_grad can only be left out for a function with a single output of shape (). "
                f"Actual output shapes: {shapes}"
            )
        self.gys = tuple([None if y is None else gy for gy, y in zip(self.gys, ys, strict=True)])

    def _sample_directions(self):
        shapes = [None if x is None else x.shape for x, no_gx in zip(self.xs, self.no_gxs, strict=True) if not no_gx]
        shapes += [p.shape for p in self.params]
        sizes = [0 if shape is None else math.prod(shape) for shape in shapes]
        packed = self._sample_unit_vector(sum(sizes), self.device.xp)
        directions, start = [], 0
        for shape, size in zip(shapes, sizes, strict=True):
            directions.append(None if shape is None else packed[start : start + size].reshape(shape))
            start += size
        return directions

    @staticmethod
    def _sample_unit_vector(size, xp):
        """A random vector of norm 1. Every element has at least the absolute value 0.1 / sqrt(size), so that an error
        in any element of a gradient is seen.
        """
        v = xp.random.normal(size=(size,))
        if size == 0:
            return v
        squares = xp.square(v)
        return xp.copysign(xp.sqrt(0.99 / squares.sum() * squares + 0.01 / size), v)

    def _backward_gradient(self, xs, ys, params, directions):
        gys = [None if gy is None else variable.Variable(gy.copy(), requires_grad=False) for gy in self.gys]
        backward(ys, gys)
        for i, (no_gx, x) in enumerate(zip(self.no_gxs, xs, strict=True)):
            if no_gx and x.grad is not None:
                raise RuntimeError(
                    f"input {i} is in no_grads or is not floating, so its gradient must be None, not {type(x.grad)}"
                )
        grads = [None if x is None else x.grad for x, no_gx in zip(xs, self.no_gxs, strict=True) if not no_gx]
        grads += [p.grad for p in params]
        total = 0
        for g, direction in zip(grads, directions, strict=True):
            if g is not None:
                total += (g.astype(numpy.float64) * direction).sum()
        return total

    def _numeric_gradient(self, directions):
        n_params = len(self.params)
        data = [p if self.is_immutable_params else p.array for p in self.params]
        xs = list(self.xs)
        if self.dtype is not None:
            for i, x in enumerate(xs):
                if x is not None and x.dtype.kind == "f":
                    xs[i] = x.astype(self.dtype, copy=False)
            data = [p.astype(self.dtype, copy=False) for p in data]
        delta = self.device.xp.array(0.0, numpy.float64)

        def moved(array, direction):
            if array is None:
                return None
            result = (array.astype(numpy.float64) + delta * direction).astype(array.dtype)
            return self.device.xp.array(result) if numpy.isscalar(result) else result

        def f():
            remaining = iter(directions)
            x_vars = []
            for x, no_gx in zip(xs, self.no_gxs, strict=True):
                if no_gx:
                    x_vars.append(variable.Variable(x, requires_grad=False))
                else:
                    x = moved(x, next(remaining))
                    x_vars.append(None if x is None else variable.Variable(x))
            new = [moved(p, direction) for p, direction in zip(data, remaining, strict=True)]
            assert len(new) == n_params
            if self.is_immutable_params:
                ys = self._call(x_vars, tuple([variable.Parameter(p) for p in new]))
            else:
                for p, array in zip(self.params, new, strict=True):
                    p.array = array
                _clear_grads(self.params)
                try:
                    ys = self._call(x_vars, None)
                finally:
                    for p, array in zip(self.params, data, strict=True):
                        p.array = array
            return tuple([None if y is None else y.array for y in ys])

        (gx,) = numerical_grad(
            f,
            (delta,),
            self.gys,
            eps=self.eps,
            detect_nondifferentiable=self.detect_nondifferentiable,
            diff_atol=0,
            diff_rtol=self.rtol,
        )
        return gx

    def _compare(self, expected, actual, directions):
        try:
            _comparison.assert_allclose(expected, actual, atol=self.atol, rtol=self.rtol)
        except AssertionError as e:
            text = _report(
                f"check_backward failed (eps={self.eps} atol={self.atol} rtol={self.rtol})",
                inputs=self.xs,
                grad_outputs=self.gys,
                directions=directions,
            )
            raise AssertionError(
                f"{text}\ngradients (numeric):  {expected}\ngradients (backward): {actual}\n\n"
                f"x: numeric gradient, y: backward gradient{e}"
            ) from None


def _clear_grads(xs):
    for x in xs:
        if x is not None:
            x.grad_var = None


def check_backward(
    func: Callable[..., Any],
    x_data: Any,
    y_grad: Any,
    params: Any = (),
    eps: float = 1e-3,
    atol: float = 1e-5,
    rtol: float = 1e-4,
    no_grads: Sequence[bool] | None = None,
    dtype: Any = None,
    detect_nondifferentiable: bool = False,
) -> None:
    """Compares backward of a function with finite differences along a random direction.

    Args:
        func: function of Variables that returns a Variable or a tuple of them.
        x_data: array or tuple of arrays: the inputs.
        y_grad: array or None, or a tuple of them: the gradients of the outputs; None for a loss of shape ().
        params: Parameter or tuple of them that `func` reads and that are checked as well.
        eps: step of the differences.
        atol: absolute tolerance.
        rtol: relative tolerance.
        no_grads: bool for each input: whether it must get no gradient; None: those that are not floating.
        dtype: floating dtype in which the differences are evaluated; None: that of the inputs.
        detect_nondifferentiable: True refuses points where `func` looks non-differentiable.

    Raises:
        AssertionError: the two gradients differ.
        ValueError: lengths, shapes or dtypes do not fit.
        NondifferentiableError: with `detect_nondifferentiable`, `func` looks non-differentiable at the point.

    Example:
        >>> from compatgrad.chainer import gradient_check
        >>> x, gy = np.array([1.0, 2.0]), np.array([1.0, -1.0])
        >>> gradient_check.check_backward(lambda x: x**3, x, gy)

    Source: `chainer.gradient_check.check_backward` of Chainer 7.8.1.
    """
    _CheckBackward(
        func, x_data, y_grad, params, eps, atol, rtol, no_grads, dtype, detect_nondifferentiable, False
    ).run()


def _check_backward_with_params(
    func,
    x_data,
    y_grad,
    params=(),
    eps=1e-3,
    atol=1e-5,
    rtol=1e-4,
    no_grads=None,
    dtype=None,
    detect_nondifferentiable=False,
):
    """`check_backward` for a ``func(xs, params)`` that gets its parameters, arrays in `params`, as
    arguments.
    """
    assert all(isinstance(p, backend.get_array_types()) for p in params)
    _CheckBackward(func, x_data, y_grad, params, eps, atol, rtol, no_grads, dtype, detect_nondifferentiable, True).run()


def check_double_backward(
    func: Callable[..., Any],
    x_data: Any,
    y_grad: Any,
    x_grad_grad: Any,
    params: Any = (),
    params_grad_grad: Any = (),
    eps: float = 1e-3,
    atol: float = 1e-4,
    rtol: float = 1e-3,
    no_grads: Sequence[bool] | None = None,
    dtype: Any = None,
    detect_nondifferentiable: bool = False,
) -> None:
    """Compares backward of the backward of a function with finite differences of its backward.

    Args:
        func: function of Variables that returns a Variable or a tuple of them.
        x_data: array or tuple of arrays: the inputs.
        y_grad: array or tuple of arrays: the gradients of the outputs.
        x_grad_grad: array or tuple of arrays: the gradients of the inputs' gradients.
        params: Parameter or tuple of them that `func` reads and that are checked as well.
        params_grad_grad: array or tuple of arrays: the gradients of the parameters' gradients.
        eps: step of the differences.
        atol: absolute tolerance.
        rtol: relative tolerance.
        no_grads: bool for each input: whether it must get no gradient; None: those that are not floating.
        dtype: floating dtype in which the differences are evaluated; None: that of the inputs.
        detect_nondifferentiable: True refuses points where `func` looks non-differentiable.

    Raises:
        AssertionError: the two gradients differ.
        ValueError: lengths, shapes or dtypes do not fit.
        NondifferentiableError: with `detect_nondifferentiable`, `func` looks non-differentiable at the point.

    Example:
        >>> from compatgrad.chainer import gradient_check
        >>> x, gy, ggx = np.array([1.0, 2.0]), np.array([1.0, -1.0]), np.array([0.5, 2.0])
        >>> gradient_check.check_double_backward(lambda x: x**3, x, gy, ggx)

    Source: `chainer.gradient_check.check_double_backward` of Chainer 7.8.1.
    """
    xs, gys, params = _as_tuple(x_data), _as_tuple(y_grad), _as_tuple(params)
    ggxs, ggparams = _as_tuple(x_grad_grad), _as_tuple(params_grad_grad)
    integral = [x.dtype.kind != "f" for x in xs]

    def first_order_grad(*inputs):
        xs_, gys_ = inputs[: len(xs)], inputs[len(xs) :]
        ys = _as_tuple(func(*xs_))
        gys_ = [None if gy is None else functions.cast(gy, y.dtype) for y, gy in zip(ys, gys_, strict=True)]
        _check_outputs_and_grad_outputs(ys, gys_)
        backward(ys, gys_, enable_double_backprop=True)
        wrong = [i for i, x in enumerate(xs_) if integral[i] and x.grad is not None]
        if wrong:
            raise RuntimeError(
                f"inputs {wrong} of {_facts(xs_)} have a gradient, which must be None, as they are not floating"
            )
        gxs = [x.grad_var for i, x in enumerate(xs_) if not integral[i]]
        return tuple(gxs + [p.grad_var for p in params])

    try:
        check_backward(
            first_order_grad,
            xs + gys,
            ggxs + ggparams,
            params,
            eps,
            atol,
            rtol,
            no_grads,
            dtype,
            detect_nondifferentiable,
        )
    except AssertionError as e:
        text = _report(
            f"check_double_backward failed (eps={eps} atol={atol} rtol={rtol})",
            input=xs,
            grad_output=gys,
            grad_grad_input=ggxs,
            grad_grad_param=ggparams,
        )
        raise AssertionError(f"{text}\n\n{e}") from e
