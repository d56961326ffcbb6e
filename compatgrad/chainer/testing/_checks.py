"""Comparisons of arrays for the tests of functions and links; a failure raises an instance of `error`."""

import numpy as np

from compatgrad.chainer import utils
from compatgrad.chainer.testing import array as array_module
from compatgrad.chainer.variable import Variable


def uniform_like(templates):
    return tuple([np.random.uniform(-1, 1, a.shape).astype(a.dtype) for a in templates])


def check_array_types(arrays, device, func_name):
    if not isinstance(arrays, tuple):
        raise TypeError(f"`{func_name}()` must return a tuple, not {type(arrays)}.")
    if not all(a is None or isinstance(a, device.supported_array_types) for a in arrays):
        raise TypeError(
            f"{func_name}() must return a tuple of arrays supported by device {device} or None.\n"
            f"Actual: {tuple(type(a) for a in arrays)}"
        )


def check_variable_types(variables, device, func_name, error):
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


def check_unmodified(before, after, error):
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
        error.fail("\n".join(lines) + "\n")


def check_arrays_equal(actual, expected, error, **options):
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
