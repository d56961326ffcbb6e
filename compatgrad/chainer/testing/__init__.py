"""Helpers for the tests of functions, links and programs (`chainer.testing`)."""

from __future__ import annotations

from compatgrad.chainer.testing.array import assert_allclose
from compatgrad.chainer.testing.backend import BackendConfig, inject_backend_tests
from compatgrad.chainer.testing.function_link import (
    FunctionTestCase,
    FunctionTestError,
    InitializerArgument,
    LinkInitializersTestCase,
    LinkTestCase,
    LinkTestError,
)
from compatgrad.chainer.testing.helper import assert_warns, patch, with_requires, without_requires
from compatgrad.chainer.testing.matrix import generate_matrix
from compatgrad.chainer.testing.parameterized import (
    from_pytest_parameterize,
    parameterize,
    parameterize_pytest,
    product,
    product_dict,
)
from compatgrad.chainer.testing.random import fix_random, generate_seed
from compatgrad.chainer.testing.serializer import save_and_load, save_and_load_hdf5, save_and_load_npz
from compatgrad.chainer.testing.training import get_trainer_with_mock_updater
from compatgrad.chainer.testing.unary_math_function_test import unary_math_function_unittest

__all__ = [
    "BackendConfig",
    "FunctionTestCase",
    "FunctionTestError",
    "InitializerArgument",
    "LinkInitializersTestCase",
    "LinkTestCase",
    "LinkTestError",
    "assert_allclose",
    "assert_warns",
    "distribution_unittest",
    "fix_random",
    "from_pytest_parameterize",
    "generate_matrix",
    "generate_seed",
    "get_trainer_with_mock_updater",
    "inject_backend_tests",
    "parameterize",
    "parameterize_pytest",
    "patch",
    "product",
    "product_dict",
    "run_module",
    "save_and_load",
    "save_and_load_hdf5",
    "save_and_load_npz",
    "unary_math_function_unittest",
    "with_requires",
    "without_requires",
]


def __getattr__(name):
    # Not imported here: its module uses pytest marks, which --strict-markers rejects in projects that do not declare
    # them.
    if name == "distribution_unittest":
        from compatgrad.chainer.testing.distribution_test import distribution_unittest

        return distribution_unittest
    from compatgrad.names.absent import no_attribute

    raise no_attribute(__name__, name)


def run_module(name: str, file: str) -> None:
    """Runs the tests of a file under pytest, with the debugger on failure, where the file is run as a program.

    Args:
        name: the file's `__name__`; nothing happens unless it is "__main__".
        file: the file's `__file__`.

    Raises:
        ImportError: pytest is not installed.

    Example:
        testing.run_module(__name__, __file__)

    Source: `chainer.testing.run_module` of Chainer 7.8.1.
    """
    if name == "__main__":
        import pytest

        pytest.main([file, "-vvs", "-x", "--pdb"])
