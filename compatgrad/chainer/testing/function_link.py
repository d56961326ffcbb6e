"""Base classes of the tests of functions and links."""

import contextlib
import unittest

import numpy as np

from compatgrad.chainer import backend, gradient_check, initializers, utils
from compatgrad.chainer.backend import get_array_types
from compatgrad.chainer.initializer import Initializer
from compatgrad.chainer.link import Link
from compatgrad.chainer.testing import array as array_module
from compatgrad.chainer.variable import Variable


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
        """Context that turns `error_types` into this error."""
        try:
            yield
        except error_types as e:
            cls.fail(message, e)


class FunctionTestError(_TestError):
    """The function under test is wrong."""


class LinkTestError(_TestError):
    """The link under test is wrong."""


class InitializerArgument:
    """A link's argument and the initializer it stands for: see `LinkInitializersTestCase.get_initializers`.

    Raises ValueError where `expected_initializer` is None, TypeError where it is no initializer.
    """

    def __init__(self, argument_value, expected_initializer):
        if expected_initializer is None:
            raise ValueError("Expected initializer cannot be None.")
        initializers._check_is_initializer_like(expected_initializer)
        self.argument_value = argument_value
        self.expected_initializer = expected_initializer


class _TestBase:
    """What tests of functions and links share."""

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
        return _uniform_like(outputs_template)

    def check_forward_outputs(self, outputs, expected_outputs):
        """Compare the outputs; `check_forward_options` are keywords of `assert_allclose`."""
        for arrays in (outputs, expected_outputs):
            assert isinstance(arrays, tuple)
            assert all(isinstance(a, get_array_types()) for a in arrays)
        _check_arrays_equal(outputs, expected_outputs, self._error, **self.check_forward_options)

    def _generate(self, name, *args):
        """Call a method that must return a tuple of NumPy arrays."""
        arrays = getattr(self, name)(*args)
        _check_array_types(arrays, backend.CpuDevice(), name)
        return arrays

    def _to_noncontiguous_as_needed(self, arrays):
        if self.contiguous is None:
            return array_module._as_noncontiguous_array(arrays)
        assert self.contiguous == "C", f"Invalid value of `contiguous`: {self.contiguous}"
        return arrays

    def _to_backend(self, arrays):
        return self._to_noncontiguous_as_needed(self.backend_config.get_array(arrays))

    def _check_outputs(self, outputs):
        _check_variable_types(outputs, self.backend_config.device, "forward", self._error)
        return outputs

    def _start(self, test_name, backend_config):
        if getattr(self, f"skip_{test_name[len('test_') :]}_test", False):
            raise unittest.SkipTest(f"skip_{test_name[len('test_') :]}_test is set")
        self.backend_config = backend_config
        self.test_name = test_name
        self.before_test(test_name)

    def _check_gradients(self, message, check, make_arguments):
        """Run ``check(*args, **kwargs)`` with what ``make_arguments()`` returns.

        With `dodge_nondifferentiable` this is repeated until the random input is a differentiable point.
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
    """The tests of `FunctionTestCase` as methods that take a `BackendConfig`."""

    check_forward_options = None
    check_backward_options = None
    check_double_backward_options = None
    skip_forward_test = False
    skip_backward_test = False
    skip_double_backward_test = False
    _error = FunctionTestError

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.check_forward_options = {}
        self.check_backward_options = {}
        self.check_double_backward_options = {}

    def forward(self, inputs, device):
        """The function under test: a tuple of Variables to a tuple of Variables."""
        raise NotImplementedError("forward() is not implemented.")

    def forward_expected(self, inputs):
        """The expected outputs: a tuple of NumPy arrays to a tuple of NumPy arrays."""
        raise NotImplementedError("forward_expected() is not implemented.")

    def generate_grad_grad_inputs(self, inputs_template):
        """Return a tuple of NumPy arrays (or None) shaped like the template."""
        return _uniform_like(inputs_template)

    def _forward(self, *inputs):
        assert all(isinstance(x, Variable) for x in inputs)
        with self.backend_config:
            outputs = self.forward(inputs, self.backend_config.device)
        return self._check_outputs(outputs)

    def run_test_forward(self, backend_config):
        """Compare `forward` with `forward_expected`, and see that it leaves its inputs alone."""
        self._start("test_forward", backend_config)
        cpu_inputs = self._to_noncontiguous_as_needed(self._generate("generate_inputs"))
        copies = [a.copy() for a in cpu_inputs]
        expected = self._generate("forward_expected", cpu_inputs)
        inputs = self._to_backend(cpu_inputs)
        outputs = self._forward(*[Variable(a, requires_grad=a.dtype.kind == "f") for a in inputs])
        _check_unmodified(copies, inputs)
        self.check_forward_outputs(tuple([y.array for y in outputs]), expected)

    def run_test_backward(self, backend_config):
        """Compare the gradients with numerical ones."""
        self._start("test_backward", backend_config)

        def make_arguments():
            inputs = self._generate("generate_inputs")
            outputs = self._generate("forward_expected", inputs)
            grad_outputs = self._generate("generate_grad_outputs", outputs)
            arrays = map(self._to_backend, (inputs, grad_outputs))
            return (self._forward, *arrays), self.check_backward_options

        self._check_gradients("backward is not implemented correctly", gradient_check.check_backward, make_arguments)

    def run_test_double_backward(self, backend_config):
        """Compare the gradients of the gradients with numerical ones."""
        self._start("test_double_backward", backend_config)

        def make_arguments():
            inputs = self._generate("generate_inputs")
            outputs = self._generate("forward_expected", inputs)
            grad_outputs = self._generate("generate_grad_outputs", outputs)
            # None stands for an omitted gradient of a differentiable input and goes on to the check.
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
    """Tests of a function: forward, backward, double backward. Use it with `inject_backend_tests`.

    A subclass defines `forward`, `forward_expected` and `generate_inputs`, and may define `before_test`,
    `generate_grad_outputs`, `generate_grad_grad_inputs`, `check_forward_outputs`, and

    - ``skip_forward_test``, ``skip_backward_test``, ``skip_double_backward_test`` (bool);
    - ``dodge_nondifferentiable`` (bool): draw again where the input is not differentiable;
    - ``numerical_grad_dtype``: what inputs are cast to for numerical gradients (float64);
    - ``contiguous``: ``'C'``, or None for arrays that are not contiguous where possible;
    - ``check_forward_options``, ``check_backward_options``, ``check_double_backward_options``: keywords of
      `assert_allclose`, `gradient_check.check_backward` and `check_double_backward`, reset by ``__init__``.

    ``test_name`` and ``backend_config`` are set while a test runs. Raises `FunctionTestError`.
    """

    def test_forward(self, backend_config):
        self.run_test_forward(backend_config)

    def test_backward(self, backend_config):
        self.run_test_backward(backend_config)

    def test_double_backward(self, backend_config):
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
    """Tests of a link: forward and backward. Use it with `inject_backend_tests`.

    A subclass defines `generate_params`, `create_link`, `generate_inputs` and `forward_expected`, and may
    define `forward`, `before_test`, `generate_grad_outputs`, `check_forward_outputs`, and

    - ``param_names``: names of the parameters whose gradients are checked;
    - ``skip_forward_test``, ``skip_backward_test``, ``dodge_nondifferentiable``, ``numerical_grad_dtype``,
      ``contiguous``, ``check_forward_options``, ``check_backward_options``: as in `FunctionTestCase`.

    Raises `LinkTestError`; TypeError where `create_link` returns no link.
    """

    check_forward_options = None
    check_backward_options = None
    skip_forward_test = False
    skip_backward_test = False

    def __init__(self, *args, **kwargs):
        self.check_forward_options = {}
        self.check_backward_options = {}
        super().__init__(*args, **kwargs)

    def forward_expected(self, link, inputs):
        """The expected outputs as NumPy arrays; `link` has run once and lies on the CPU."""
        raise NotImplementedError("forward_expected() is not implemented.")

    def test_forward(self, backend_config):
        self._start("test_forward", backend_config)
        link = self._create_link(self._generate_params())
        cpu_inputs = self._generate("generate_inputs")
        outputs = self._forward(link, self._to_backend(cpu_inputs))
        link.to_device(backend.CpuDevice())
        expected = self._generate("forward_expected", link, cpu_inputs)
        self.check_forward_outputs(tuple([y.array for y in outputs]), expected)

    def test_backward(self, backend_config):
        self._start("test_backward", backend_config)

        def make_arguments():
            # The first link only provides inputs, parameters and the shape of the outputs.
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
    """Test that a link hands its initializers to its parameters. Use it with `inject_backend_tests`.

    A subclass defines `generate_params`, `create_link`, `generate_inputs` and `get_initializers`, and may
    define `forward`, `before_test`, ``param_names`` (in the order of the initializers), ``contiguous`` and
    ``check_initializers_options`` (keywords of `assert_allclose`). Raises `LinkTestError`.
    """

    check_initializers_options = None

    def __init__(self, *args, **kwargs):
        self.check_initializers_options = {}
        super().__init__(*args, **kwargs)

    def get_initializers(self):
        """Return one list per initializer argument: deterministic initializers, or `InitializerArgument`."""
        raise NotImplementedError("get_initializers is not implemented.")

    def test_initializers(self, backend_config):
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
        _check_arrays_equal((actual,), (expected,), self._error, **self.check_initializers_options)


def _uniform_like(templates):
    return tuple([np.random.uniform(-1, 1, a.shape).astype(a.dtype) for a in templates])


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


def _check_array_types(arrays, device, func_name):
    if not isinstance(arrays, tuple):
        raise TypeError(f"`{func_name}()` must return a tuple, not {type(arrays)}.")
    if not all(a is None or isinstance(a, device.supported_array_types) for a in arrays):
        raise TypeError(
            f"{func_name}() must return a tuple of arrays supported by device {device} or None.\n"
            f"Actual: {tuple(type(a) for a in arrays)}"
        )


def _check_variable_types(variables, device, func_name, error):
    if not isinstance(variables, tuple):
        error.fail(f"`{func_name}()` must return a tuple, not {type(variables)}.")
    if not all(isinstance(a, Variable) for a in variables):
        error.fail(
            f"{func_name}() must return a tuple of Variables.\nActual: {', '.join(str(type(a)) for a in variables)}"
        )
    if not all(isinstance(a.array, device.supported_array_types) for a in variables):
        error.fail(
            f"{func_name}() must return a tuple of Variables of arrays supported by device {device}.\n"
            f"Actual: {', '.join(str(type(a.array)) for a in variables)}"
        )


def _check_unmodified(before, after):
    modified = []
    for i, (a, b) in enumerate(zip(before, after, strict=True)):
        try:
            array_module.assert_allclose(a, b, atol=0, rtol=0)
        except AssertionError:
            modified.append(i)
    if modified:
        lines = [
            "Input arrays have been modified during forward.",
            f"Indices of modified inputs: {', '.join(map(str, modified))}",
            f"Input array shapes and dtypes: {utils._format_array_props(after)}",
        ]
        for i in modified:
            lines += ["", f"Input[{i}]:", "Original:", str(before[i]), "After forward:", str(after[i])]
        FunctionTestError.fail("\n".join(lines) + "\n")


def _check_arrays_equal(actual, expected, error, **options):
    """Raise `error` unless number, shapes, dtypes and values (`options`: of `assert_allclose`) agree."""
    message, details = _compare(actual, expected, options)
    if message is not None:
        error.fail(
            f"{message}\n"
            f"Expected shapes and dtypes: {utils._format_array_props(expected)}\n"
            f"Actual shapes and dtypes:   {utils._format_array_props(actual)}\n{details}"
        )


def _compare(actual, expected, options):
    if len(actual) != len(expected):
        return f"Number of outputs ({len(actual)}, {len(expected)}) does not match", ""
    if any(y.shape != ye.shape or y.dtype != ye.dtype for y, ye in zip(actual, expected, strict=True)):
        return "Shapes and/or dtypes do not match", ""
    errors = {}
    for i, (y, ye) in enumerate(zip(actual, expected, strict=True)):
        try:
            array_module.assert_allclose(y, ye, **options)
        except AssertionError as e:
            errors[i] = e
    if not errors:
        return None, ""
    return (
        f"Outputs do not match the expected values.\n"
        f"Indices of outputs that do not match: {', '.join(map(str, errors))}",
        "\n\n" + "".join(f"Error details of output [{i}]:\n{e}\n" for i, e in errors.items()),
    )
