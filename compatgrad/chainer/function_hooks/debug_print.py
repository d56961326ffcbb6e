"""A hook that prints the inputs of functions."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any

from compatgrad.chainer import backend
from compatgrad.chainer.function_hook import FunctionHook
from compatgrad.chainer.variable import Variable

if TYPE_CHECKING:
    from compatgrad.chainer.function_node import FunctionNode


class PrintHook(FunctionHook):
    """Prints every function with its inputs, and in backward its output gradients, before it runs.

    Args:
        sep: deprecated and ignored; with a DeprecationWarning.
        end: the string that ends every line.
        file: file that takes the text.
        flush: True flushes the file after each function.

    Example:
        >>> import io
        >>> out = io.StringIO()
        >>> with chainer.function_hooks.PrintHook(file=out):
        ...     y = F.exp(np.array([1.0]))
        >>> print(out.getvalue().splitlines()[0].split())
        ['function', 'exp']

    Source: `chainer.function_hooks.PrintHook` of Chainer 7.8.1.
    """

    name = "PrintHook"

    def __init__(self, sep: Any = None, end: str = "\n", file: Any = sys.stdout, flush: bool = True) -> None:
        if sep is not None:
            warnings.warn(
                "sep argument in chainer.function_hooks.PrintHook is deprecated.",
                DeprecationWarning,
                stacklevel=2,
            )
        self.sep = sep
        self.end = end
        self.file = file
        self.flush = flush

    def _print(self, text):
        self.file.write(text + self.end)

    def _print_call(self, function, in_data, out_grad=()):
        self._print(f"function\t{function.label}")
        self._print("input data")
        for x in in_data:
            self._print("(removed)" if x is None else Variable(x).debug_print())
        if out_grad:
            self._print("output gradient")
        for g in out_grad:
            shown = Variable()
            if g is not None:
                shown = Variable(backend.get_array_module(g).zeros_like(g))
                shown.grad = g
            self._print(shown.debug_print())
        if self.flush and hasattr(self.file, "flush"):
            self.file.flush()

    def forward_preprocess(self, function: FunctionNode, in_data: tuple[Any, ...]) -> None:
        """Prints the function and its inputs."""
        self._print_call(function, in_data)

    def backward_preprocess(self, function: FunctionNode, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        """Prints the function, its inputs and its output gradients."""
        self._print_call(function, in_data, out_grad)
