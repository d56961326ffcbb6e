"""Parameterised test classes, and helpers that make lists of parameters."""

from __future__ import annotations

import functools
import itertools
import types
import unittest
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from compatgrad.chainer import utils
from compatgrad.chainer.testing import _bundle

_MAX_PARAM_CHARS = 100
_MAX_PARAMS_CHARS = 5000


def _param_to_str(value):
    name = getattr(value, "__name__", None)
    return name if isinstance(name, str) else repr(value)


def _shorten(text, maxlen):
    """Cut the middle out of a text longer than `maxlen`."""
    if len(text) <= maxlen:
        return text
    kept = maxlen - 3
    head = kept // 2
    return text[:head] + "..." + text[len(text) - (kept - head) :]


def _make_class_name(base_name, index, param):
    shown = ", ".join(f"{k}={_shorten(_param_to_str(v), _MAX_PARAM_CHARS)}" for k, v in sorted(param.items()))
    return f"{base_name}_param_{index}_{{{_shorten(shown, _MAX_PARAMS_CHARS)}}}"


def _unbound(func):
    """A method that calls `func` without self. A function that is a parameter would become a method as a class
    attribute."""

    def method(self, *args, **kwargs):
        return func(*args, **kwargs)

    return method


def _takes_message(error):
    try:
        error("")
    except Exception:
        return False
    return True


def _describe_failure(base, method, param):
    lines = [
        "Parameterized test failed.",
        "",
        f"Base test method: {base.__name__}.{method.__name__}",
        "Test parameters:",
    ]
    lines += [f"  {k}: {v}" for k, v in sorted(param.items())]
    return "\n".join(lines) + "\n"


def _generate(base, index, param):
    def __str__(self):
        return f"{base.__str__(self)}  parameter: {param}"

    members = {k: _unbound(v) if isinstance(v, types.FunctionType) else v for k, v in param.items()}
    members["__str__"] = __str__

    def wrap(method):
        @functools.wraps(method)
        def test(self, *args, **kwargs):
            try:
                return method(self, *args, **kwargs)
            except unittest.SkipTest:
                raise
            except Exception as e:
                error = MemoryError if type(e).__name__ == "OutOfMemoryError" else type(e)
                if not _takes_message(error):
                    raise
                utils._raise_from(error, _describe_failure(base, method, param), e)

        return test

    return _make_class_name(base.__name__, index, param), members, wrap


def parameterize(*params: dict[str, Any]) -> Callable[[Any], Any]:
    """Makes a decorator that turns a test class into one for each set of parameters, which become class attributes. The
    classes are named `Test_param_0_{n=1}`.

    Args:
        *params: the sets of parameters.

    Returns:
        The decorator.

    Raises:
        AttributeError: when it decorates a class, a set is no dict.

    Example:
        @testing.parameterize({"n": 1}, {"n": 2})
        class TestOnes(unittest.TestCase):
            def test_sum(self):
                assert np.ones(self.n).sum() == self.n

    Source: `chainer.testing.parameterize` of Chainer 7.8.1.
    """

    def generate(base):
        for index, param in enumerate(params):
            yield _generate(base, index, param)

    return _bundle.make_decorator(generate)


def from_pytest_parameterize(names: str, values: Sequence[Any]) -> list[dict[str, Any]]:
    """Turns parameters in pytest's form into a list of dicts.

    Args:
        names: names, separated by commas.
        values: values of the name, or sequences with a value for each name.

    Returns:
        The dicts.

    Raises:
        AssertionError: an argument has the wrong type, or a sequence has another length than `names`.

    Example:
        >>> from compatgrad.chainer import testing
        >>> testing.from_pytest_parameterize("x,y", [(1, 2), (3, 4)])
        [{'x': 1, 'y': 2}, {'x': 3, 'y': 4}]

    Source: `chainer.testing.from_pytest_parameterize` of Chainer 7.8.1.
    """
    assert isinstance(names, str)
    assert isinstance(values, (tuple, list))
    keys = names.split(",")
    if len(keys) == 1:
        return [{keys[0]: value} for value in values]
    for value in values:
        assert isinstance(value, (tuple, list)) and len(value) == len(keys)
    return [dict(zip(keys, value, strict=True)) for value in values]


def parameterize_pytest(names: str, values: Sequence[Any]) -> Callable[[Any], Any]:
    """`parameterize` with parameters in pytest's form.

    Args:
        names: names, separated by commas.
        values: values of the name, or sequences with a value for each name.

    Returns:
        The decorator.

    Raises:
        AssertionError: an argument has the wrong type, or a sequence has another length than `names`.

    Example:
        @testing.parameterize_pytest("n", [1, 2])
        class TestOnes(unittest.TestCase):
            def test_sum(self):
                assert np.ones(self.n).sum() == self.n

    Source: `chainer.testing.parameterize_pytest` of Chainer 7.8.1.
    """
    return parameterize(*from_pytest_parameterize(names, values))


def product(parameter: dict[str, Sequence[Any]] | list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """All combinations of parameters.

    Args:
        parameter: values by names, where a key may be several names separated by commas; or lists of dicts.

    Returns:
        The combinations, dicts.

    Raises:
        AssertionError: a value for several names has another length than the names.
        TypeError: `parameter` is neither a dict nor a list of lists of dicts.

    Example:
        >>> from compatgrad.chainer import testing
        >>> testing.product({"x": [1, 2], "y,z": [("a", "b")]})
        [{'x': 1, 'y': 'a', 'z': 'b'}, {'x': 2, 'y': 'a', 'z': 'b'}]

    Source: `chainer.testing.product` of Chainer 7.8.1.
    """
    if isinstance(parameter, dict):
        return product_dict(*[from_pytest_parameterize(k, v) for k, v in sorted(parameter.items())])
    if not isinstance(parameter, list):
        raise TypeError(f"parameter must be either dict or list. Actual: {type(parameter)}")
    if not all(isinstance(dicts, list) and all(isinstance(d, dict) for d in dicts) for dicts in parameter):
        raise TypeError("parameter must be list of lists of dicts")
    return product_dict(*parameter)


def product_dict(*parameters: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """All combinations of dicts.

    Args:
        *parameters: lists of dicts.

    Returns:
        The combinations: one dict of each list, merged.

    Raises:
        AttributeError: an element of a list is no dict.

    Example:
        >>> from compatgrad.chainer import testing
        >>> testing.product_dict([{"x": 1}, {"x": 2}], [{"y": 3}])
        [{'x': 1, 'y': 3}, {'x': 2, 'y': 3}]

    Source: `chainer.testing.product_dict` of Chainer 7.8.1.
    """
    return [_merge(dicts) for dicts in itertools.product(*parameters)]


def _merge(dicts):
    return {k: v for d in dicts for k, v in d.items()}


# A test run may replace `product_dict` by the pairwise variant while it collects tests; this name keeps the original.
_product_dict_orig = product_dict


def _pairwise_product_dict(*parameters):
    """`product_dict`, restricted to so many combinations that every pair of values of any two lists still occurs."""
    if len(parameters) <= 2:
        return _product_dict_orig(*parameters)
    lists = [list(dicts) for dicts in parameters]
    return [
        _merge(dicts[i] for i, dicts in zip(index, lists, strict=True))
        for index in sorted(_nd_indices_to_cover_each_2d([len(dicts) for dicts in lists]))
    ]


def _nd_indices_to_cover_each_2d(shape):
    """Yield indices into an array of `shape` until, for every pair of axes, all pairs of indices have occurred."""
    axes = list(itertools.combinations(range(len(shape)), 2))
    missing = {(i, j): set(itertools.product(range(shape[i]), range(shape[j]))) for i, j in axes}
    candidates = list(itertools.product(*map(range, shape)))
    # A fixed seed, because every worker of a distributed test run has to collect the same classes.
    np.random.RandomState(seed=0).shuffle(candidates)
    for index in candidates:
        new = [(i, j) for i, j in axes if (index[i], index[j]) in missing[i, j]]
        for i, j in new:
            missing[i, j].remove((index[i], index[j]))
        if new:
            yield index
