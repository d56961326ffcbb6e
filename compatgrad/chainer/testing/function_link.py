"""Base classes of the tests of functions and links."""

from __future__ import annotations

import contextlib
import unittest
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from compatgrad.chainer import backend, gradient_check, initializers, utils
from compatgrad.chainer.backend import get_array_types
from compatgrad.chainer.initializer import Initializer
from compatgrad.chainer.link import Link
from compatgrad.chainer.testing import _checks
from compatgrad.chainer.testing import array as array_module
from compatgrad.chainer.variable import Variable

if TYPE_CHECKING:
    from compatgrad.chainer.backend import Device
    from compatgrad.chainer.testing.backend import BackendConfig

# programs find these here, as in Chainer
_check_array_types = _checks.check_array_types
_check_arrays_equal = _checks.check_arrays_equal
_check_variable_types = _checks.check_variable_types


class _TestError(AssertionError):
    """Base class of the errors below."""

    @classmethod
    def check(cls, expr, message):
        """Raise this error with `message` unless `expr` is true."""
        if not expr:
            raise cls(message)

    @classmethod
    def fail(cls, message, exc=None):
        """Raise this error with `message`, and the text of the exception that caused it."""
        if exc is None:
            raise cls(message)
        utils._raise_from(cls, message, exc)

    @classmethod
    @contextlib.contextmanager
    def raise_if_fail(cls, message, error_types=AssertionError):
        """A context manager that turns `error_types` into this error."""
        try:
            yield
        except error_types as e:
            cls.fail(message, e)


class FunctionTestError(_TestError):
    """A check of the function under test failed.

    Example:
        >>> from compatgrad.chainer import testing
        >>> testing.FunctionTestError.check(1 + 1 == 3, "wrong sum")
        Traceback (most recent call last):
          ...
        compatgrad.chainer.testing.function_link.FunctionTestError: wrong sum

    Source: `chainer.testing.FunctionTestError` of Chainer 7.8.1.
    """


class LinkTestError(_TestError):
    """A check of the link under test failed.

    Example:
        >>> from compatgrad.chainer import testing
        >>> testing.LinkTestError.check(1 + 1 == 3, "wrong sum")
        Traceback (most recent call last):
          ...
        compatgrad.chainer.testing.function_link.LinkTestError: wrong sum

    Source: `chainer.testing.LinkTestError` of Chainer 7.8.1.
    """


class InitializerArgument:
    """An argument of a link and the initializer that the link uses for it, for
    `LinkInitializersTestCase.get_initializers`.

    Args:
        argument_value: the argument, such as None.
        expected_initializer: the initializer: a callable, a number or an array.

    Raises:
        TypeError: `expected_initializer` is no initializer.
        ValueError: `expected_initializer` is None.

    Example:
        >>> from compatgrad.chainer import testing
        >>> argument = testing.InitializerArgument(None, 0)
        >>> argument.argument_value, argument.expected_initializer
        (None, 0)

    Source: `chainer.testing.InitializerArgument` of Chainer 7.8.1.
    """

    def __init__(self, argument_value: Any, expected_initializer: Any) -> None:
        if expected_initializer is None:
            raise ValueError("Expected initializer cannot be None.")
        initializers._check_is_initializer_like(expected_initializer)
        self.argument_value = argument_value
        self.expected_initializer = expected_initializer


class _TestBase:
    """Base class of the tests of functions and links."""

    backend_config = None
    contiguous = None
    dodge_nondifferentiable = False
    numerical_grad_dtype = np.float64
    _error = _TestError

    def before_test(self, test_name):
        """Called before each test; may raise `unittest.SkipTest`."""

    def generate_inputs(self):
        """Return a tuple of NumPy arrays."""
        raise NotImplementedError("generate_inputs() is not implemented.")

    def generate_grad_outputs(self, outputs_template):
        """Return a tuple of NumPy arrays (or None) shaped like the template."""
        return _checks.uniform_like(outputs_template)

    def check_forward_outputs(self, outputs, expected_outputs):
        """Compare the outputs; `check_forward_options` are keywords of `assert_allclose`."""
        for arrays in (outputs, expected_outputs):
            assert isinstance(arrays, tuple)
            assert all(isinstance(a, get_array_types()) for a in arrays)
        _checks.check_arrays_equal(outputs, expected_outputs, self._error, **self.check_forward_options)

    def _generate(self, name, *args):
        """Call a method that must return a tuple of NumPy arrays."""
        arrays = getattr(self, name)(*args)
        _checks.check_array_types(arrays, backend.CpuDevice(), name)
        return arrays

    def _to_noncontiguous_as_needed(self, arrays):
        if self.contiguous is None:
            return array_module._as_noncontiguous_array(arrays)
        assert self.contiguous == "C", f"Invalid value of `contiguous`: {self.contiguous}"
        return arrays

    def _to_backend(self, arrays):
        return self._to_noncontiguous_as_needed(self.backend_config.get_array(arrays))

    def _check_outputs(self, outputs):
        _checks.check_variable_types(outputs, self.backend_config.device, "forward", self._error)
        return outputs

    def _start(self, test_name, backend_config):
        if getattr(self, f"skip_{test_name[len('test_') :]}_test", False):
            raise unittest.SkipTest(f"skip_{test_name[len('test_') :]}_test is set")
        self.backend_config = backend_config
        self.test_name = test_name
        self.before_test(test_name)

    def _check_gradients(self, message, check, make_arguments):
        """Run ``check(*args, **kwargs)`` with the arguments that ``make_arguments()`` returns. With
        `dodge_nondifferentiable` the check is repeated with new random inputs until the function is differentiable
        there.
        """
        retried = gradient_check.NondifferentiableError if self.dodge_nondifferentiable else ()
        while True:
            args, kwargs = make_arguments()
            try:
                with self._error.raise_if_fail(message):
                    check(
                        *args,
                        dtype=self.numerical_grad_dtype,
                        detect_nondifferentiable=self.dodge_nondifferentiable,
                        **kwargs,
                    )
                return
            except retried:
                continue


class FunctionTestBase(_TestBase):
    """The tests of `FunctionTestCase` as methods that take a `BackendConfig`; the class is no `unittest.TestCase`. Its
    attributes are those of `FunctionTestCase`.

    Args:
        *args: arguments of the class beside it.
        **kwargs: its keyword arguments.

    Raises:
        FunctionTestError: a check fails.

    Example:
        >>> from compatgrad.chainer import testing
        >>> from compatgrad.chainer.testing.function_link import FunctionTestBase
        >>> class Square(FunctionTestBase):
        ...     def generate_inputs(self):
        ...         return (np.array([1.0, 2.0]),)
        ...     def forward(self, inputs, device):
        ...         return (inputs[0] ** 2,)
        ...     def forward_expected(self, inputs):
        ...         return (inputs[0] ** 2,)
        >>> Square().run_test_forward(testing.BackendConfig({}))

    Source: `chainer.testing.function_link.FunctionTestBase` of Chainer 7.8.1.
    """

    check_forward_options = None
    check_backward_options = None
    check_double_backward_options = None
    skip_forward_test = False
    skip_backward_test = False
    skip_double_backward_test = False
    _error = FunctionTestError

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.check_forward_options = {}
        self.check_backward_options = {}
        self.check_double_backward_options = {}

    def forward(self, inputs: tuple[Variable, ...], device: Device) -> tuple[Variable, ...]:
        """The function under test: a tuple of Variables to a tuple of Variables."""
        raise NotImplementedError("forward() is not implemented.")

    def forward_expected(self, inputs: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """The expected outputs: a tuple of NumPy arrays to a tuple of NumPy arrays."""
        raise NotImplementedError("forward_expected() is not implemented.")

    def generate_grad_grad_inputs(self, inputs_template: Any) -> tuple[np.ndarray | None, ...]:
        """A tuple of NumPy arrays, or None, of the shapes of the template."""
        return _checks.uniform_like(inputs_template)

    def _forward(self, *inputs):
        assert all(isinstance(x, Variable) for x in inputs)
        with self.backend_config:
            outputs = self.forward(inputs, self.backend_config.device)
        return self._check_outputs(outputs)

    def run_test_forward(self, backend_config: BackendConfig) -> None:
        """Compares `forward` with `forward_expected`, and checks that `forward` does not modify its inputs."""
        self._start("test_forward", backend_config)
        cpu_inputs = self._to_noncontiguous_as_needed(self._generate("generate_inputs"))
        copies = [a.copy() for a in cpu_inputs]
        expected = self._generate("forward_expected", cpu_inputs)
        inputs = self._to_backend(cpu_inputs)
        outputs = self._forward(*[Variable(a, requires_grad=a.dtype.kind == "f") for a in inputs])
        _checks.check_unmodified(copies, inputs, self._error)
        self.check_forward_outputs(tuple([y.array for y in outputs]), expected)

    def run_test_backward(self, backend_config: BackendConfig) -> None:
        """Compares the gradients with numerical ones."""
        self._start("test_backward", backend_config)

        def make_arguments():
            inputs = self._generate("generate_inputs")
            outputs = self._generate("forward_expected", inputs)
            grad_outputs = self._generate("generate_grad_outputs", outputs)
            arrays = map(self._to_backend, (inputs, grad_outputs))
            return (self._forward, *arrays), self.check_backward_options

        self._check_gradients("backward is not implemented correctly", gradient_check.check_backward, make_arguments)

    def run_test_double_backward(self, backend_config: BackendConfig) -> None:
        """Compares the gradients of the gradients with numerical ones."""
        self._start("test_double_backward", backend_config)

        def make_arguments():
            inputs = self._generate("generate_inputs")
            outputs = self._generate("forward_expected", inputs)
            grad_outputs = self._generate("generate_grad_outputs", outputs)
            # None, which is kept, stands for the omitted gradient of a differentiable input.
            grad_grad_inputs = [
                a for a in self._generate("generate_grad_grad_inputs", inputs) if a is None or a.dtype.kind == "f"
            ]
            arrays = map(self._to_backend, (inputs, grad_outputs, grad_grad_inputs))
            return (self._forward, *arrays), self.check_double_backward_options

        def check(*args, **kwargs):
            with backend_config:
                gradient_check.check_double_backward(*args, **kwargs)

        self._check_gradients("double backward is not implemented correctly", check, make_arguments)


class FunctionTestCase(FunctionTestBase, unittest.TestCase):
    """Tests of a function: forward, backward and double backward, which `inject_backend_tests` runs on backends. A
    subclass defines `forward`, `forward_expected` and `generate_inputs`, and may define `before_test`,
    `generate_grad_outputs`, `generate_grad_grad_inputs` and `check_forward_outputs`. While a test runs, `test_name` and
    `backend_config` are set.

    Args:
        *args: arguments of `unittest.TestCase`.
        **kwargs: its keyword arguments.

    Raises:
        FunctionTestError: a check fails.

    Attributes:
        skip_forward_test, skip_backward_test, skip_double_backward_test: True skips a test.
        dodge_nondifferentiable: True draws other inputs where the function is not differentiable.
        numerical_grad_dtype: dtype to which inputs are cast for numerical gradients, float64.
        contiguous: "C", or None for arrays that are not contiguous where possible.
        check_forward_options, check_backward_options, check_double_backward_options: keyword arguments of
            `assert_allclose`, `gradient_check.check_backward` and `check_double_backward`; the constructor empties
            them.

    Example:
        >>> from compatgrad.chainer import testing
        >>> class TestSquare(testing.FunctionTestCase):
        ...     def generate_inputs(self):
        ...         return (np.array([1.0, 2.0]),)
        ...     def forward(self, inputs, device):
        ...         return (inputs[0] ** 2,)
        ...     def forward_expected(self, inputs):
        ...         return (inputs[0] ** 2,)
        >>> TestSquare("test_backward").test_backward(testing.BackendConfig({}))

    Source: `chainer.testing.FunctionTestCase` of Chainer 7.8.1.
    """

    def test_forward(self, backend_config: BackendConfig) -> None:
        """Compares `forward` with `forward_expected`."""
        self.run_test_forward(backend_config)

    def test_backward(self, backend_config: BackendConfig) -> None:
        """Compares the gradients with numerical ones."""
        self.run_test_backward(backend_config)

    def test_double_backward(self, backend_config: BackendConfig) -> None:
        """Compares the gradients of the gradients with numerical ones."""
        self.run_test_double_backward(backend_config)


class _LinkTestBase(_TestBase):
    param_names = ()
    _error = LinkTestError

    def generate_params(self):
        """Return a tuple of initializers, one per initializer argument of the link."""
        raise NotImplementedError("generate_params is not implemented.")

    def create_link(self, initializers):
        """Return a link made with these initializers."""
        raise NotImplementedError("create_link is not implemented.")

    def forward(self, link, inputs, device):
        """Apply the link to a tuple of Variables; returns a tuple of Variables."""
        outputs = link(*inputs)
        return outputs if isinstance(outputs, tuple) else (outputs,)

    def _generate_params(self):
        params = self.generate_params()
        if not isinstance(params, (tuple, list)):
            raise TypeError("`generate_params` must return a tuple or a list.")
        for init in params:
            _check_generated_initializer(init)
        return params

    def _create_link(self, inits):
        link = self.create_link([_get_initializer_argument_value(i) for i in inits])
        if not isinstance(link, Link):
            raise TypeError("`create_link` must return a chainer.Link object.")
        link.to_device(self.backend_config.device)
        return link

    def _create_initialized_link(self, inits):
        """Make a link and run it once, so that all its parameters exist. Returns link, inputs, outputs."""
        link = self._create_link(inits)
        inputs = self._to_backend(self._generate("generate_inputs"))
        outputs = self._forward(link, inputs)
        link.cleargrads()
        return link, inputs, outputs

    def _forward(self, link, inputs):
        inputs = tuple([x if isinstance(x, Variable) else Variable(x) for x in inputs])
        with self.backend_config:
            outputs = self.forward(link, inputs, self.backend_config.device)
        return self._check_outputs(outputs)


class LinkTestCase(_LinkTestBase, unittest.TestCase):
    """Tests of a link: forward and backward, which `inject_backend_tests` runs on backends. A subclass defines
    `generate_params`, `create_link`, `generate_inputs` and `forward_expected`, and may define `forward`, `before_test`,
    `generate_grad_outputs` and `check_forward_outputs`.

    Args:
        *args: arguments of `unittest.TestCase`.
        **kwargs: its keyword arguments.

    Raises:
        LinkTestError: a check fails.
        TypeError: in a test, `create_link` returns no link.

    Attributes:
        param_names: names of the parameters whose gradients are checked.
        skip_forward_test, skip_backward_test, dodge_nondifferentiable, numerical_grad_dtype, contiguous,
            check_forward_options, check_backward_options: as in `FunctionTestCase`.

    Example:
        >>> from compatgrad.chainer import testing
        >>> class TestScale(testing.LinkTestCase):
        ...     def generate_params(self):
        ...         return ()
        ...     def create_link(self, initializers):
        ...         return L.Scale(W_shape=(2,))
        ...     def generate_inputs(self):
        ...         return (np.ones((3, 2), np.float32),)
        ...     def forward_expected(self, link, inputs):
        ...         return (inputs[0] * link.W.array,)
        >>> TestScale("test_forward").test_forward(testing.BackendConfig({}))

    Source: `chainer.testing.LinkTestCase` of Chainer 7.8.1.
    """

    check_forward_options = None
    check_backward_options = None
    skip_forward_test = False
    skip_backward_test = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.check_forward_options = {}
        self.check_backward_options = {}
        super().__init__(*args, **kwargs)

    def forward_expected(self, link: Link, inputs: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """The expected outputs as NumPy arrays; `link` has run once and is on the CPU."""
        raise NotImplementedError("forward_expected() is not implemented.")

    def test_forward(self, backend_config: BackendConfig) -> None:
        """Compares the outputs of the link with `forward_expected`."""
        self._start("test_forward", backend_config)
        link = self._create_link(self._generate_params())
        cpu_inputs = self._generate("generate_inputs")
        outputs = self._forward(link, self._to_backend(cpu_inputs))
        link.to_device(backend.CpuDevice())
        expected = self._generate("forward_expected", link, cpu_inputs)
        self.check_forward_outputs(tuple([y.array for y in outputs]), expected)

    def test_backward(self, backend_config: BackendConfig) -> None:
        """Compares the gradients of inputs and parameters with numerical ones."""
        self._start("test_backward", backend_config)

        def make_arguments():
            # This first link is used only for its parameters and for the shapes of inputs and outputs.
            inits = self._generate_params()
            link, inputs, outputs = self._create_initialized_link(inits)
            params = [p.array for p in _get_link_params(link, self.param_names)]
            cpu = backend.CpuDevice()
            grad_outputs = self._generate("generate_grad_outputs", [cpu.send(y.array) for y in outputs])
            arrays = (self._to_noncontiguous_as_needed(inputs), self._to_backend(grad_outputs))
            params = self._to_noncontiguous_as_needed(params)
            checked_link, _, _ = self._create_initialized_link(inits)

            def forward(inputs, params):
                with checked_link.init_scope():
                    for name, param in zip(self.param_names, params, strict=True):
                        setattr(checked_link, name, param)
                return self._forward(checked_link, inputs)

            return (forward, *arrays), {"params": params, **self.check_backward_options}

        self._check_gradients(
            "backward is not implemented correctly", gradient_check._check_backward_with_params, make_arguments
        )


class LinkInitializersTestCase(_LinkTestBase, unittest.TestCase):
    """Tests that a link gives its initializers to its parameters, which `inject_backend_tests` runs on backends. A
    subclass defines `generate_params`, `create_link`, `generate_inputs` and `get_initializers`, and may define
    `forward`, `before_test`, `param_names` (in the order of the initializers), `contiguous` and
    `check_initializers_options` (keyword arguments of `assert_allclose`).

    Args:
        *args: arguments of `unittest.TestCase`.
        **kwargs: its keyword arguments.

    Raises:
        LinkTestError: a parameter does not have the values of its initializer.

    Example:
        >>> from compatgrad.chainer import testing
        >>> class TestLinear(testing.LinkInitializersTestCase):
        ...     param_names = ("W",)
        ...     def generate_params(self):
        ...         return (1,)
        ...     def create_link(self, initializers):
        ...         return L.Linear(2, 3, initialW=initializers[0])
        ...     def generate_inputs(self):
        ...         return (np.ones((1, 2), np.float32),)
        ...     def get_initializers(self):
        ...         return ([0, chainer.initializers.Constant(2)],)
        >>> TestLinear("test_initializers").test_initializers(testing.BackendConfig({}))

    Source: `chainer.testing.LinkInitializersTestCase` of Chainer 7.8.1.
    """

    check_initializers_options = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.check_initializers_options = {}
        super().__init__(*args, **kwargs)

    def get_initializers(self) -> Sequence[Sequence[Any]]:
        """A list for each initializer argument: deterministic initializers, or `InitializerArgument`s."""
        raise NotImplementedError("get_initializers is not implemented.")

    def test_initializers(self, backend_config: BackendConfig) -> None:
        """Compares the parameters with the values of the initializers."""
        self._start("test_initializers", backend_config)
        for index, candidates in enumerate(self._get_initializers()):
            inits = list(self._generate_params())
            for init in candidates:
                inits[index] = init
                self._check_initializer(index, inits)

    def _get_initializers(self):
        params = self.get_initializers()
        if not isinstance(params, (tuple, list)):
            raise TypeError("`get_initializers` must return a tuple or a list.")
        for candidates in params:
            if not isinstance(candidates, (tuple, list)):
                raise TypeError("`get_initializers` must return a tuple or a list of tuples or lists.")
            for init in candidates:
                _check_generated_initializer(init)
        return params

    def _check_initializer(self, index, inits):
        link, _, _ = self._create_initialized_link(inits)
        actual = backend.CpuDevice().send(_get_link_params(link, self.param_names)[index].array)
        expected = np.empty_like(actual)
        _get_expected_initializer(inits[index])(expected)
        _checks.check_arrays_equal((actual,), (expected,), self._error, **self.check_initializers_options)


def _check_generated_initializer(init):
    if isinstance(init, InitializerArgument):
        init = init.expected_initializer
    elif init is None:
        raise ValueError(
            "A None initializer must be wrapped in an InitializerArgument along with the "
            "initializer that the link uses in its place."
        )
    initializers._check_is_initializer_like(init)


def _get_initializer_argument_value(init):
    return init.argument_value if isinstance(init, InitializerArgument) else init


def _get_expected_initializer(init):
    if isinstance(init, InitializerArgument):
        init = init.expected_initializer
    assert init is not None
    return init if isinstance(init, Initializer) else initializers._get_initializer(init)


def _get_link_params(link, param_names):
    for name in param_names:
        if getattr(link, name, None) is None:
            LinkTestError.fail(f"Link does not have a parameter named '{name}'.")
    return [getattr(link, name) for name in param_names]
