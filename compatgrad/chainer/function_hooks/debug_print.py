"""Printing of what functions get."""

import sys
import warnings

from compatgrad.chainer import backend
from compatgrad.chainer.function_hook import FunctionHook
from compatgrad.chainer.variable import Variable


class PrintHook(FunctionHook):
    """Prints every function with its inputs, and its output gradients in backward, before it runs.

    `end` follows every line, `file` gets the text and is flushed if `flush`; `sep` is deprecated and ignored.
    """

    name = "PrintHook"

    def __init__(self, sep=None, end="\n", file=sys.stdout, flush=True):
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

    def forward_preprocess(self, function, in_data):
        self._print_call(function, in_data)

    def backward_preprocess(self, function, in_data, out_grad):
        self._print_call(function, in_data, out_grad)
