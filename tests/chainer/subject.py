"""Selects the implementation under test: compatgrad's Chainer frontend or the original Chainer.

To check the tests themselves against the original, run them with an interpreter that has Chainer 7.8.1:
`COMPATGRAD_SUBJECT=original python -m pytest tests/chainer/test_semantics_*`.
"""

import os

import numpy as np

ORIGINAL = os.environ.get("COMPATGRAD_SUBJECT") == "original"
if ORIGINAL:
    import chainer
    import chainer.functions as F
else:
    import compatgrad.chainer as chainer
    import compatgrad.chainer.functions as F

__all__ = ["F", "ORIGINAL", "Log", "Scale", "chainer", "f32", "var"]


def f32(values):
    return np.array(values, np.float32)


def var(values, **kwargs):
    return chainer.Variable(f32(values), **kwargs)


class Scale(chainer.FunctionNode):
    """k * x, defined in Python; records the arguments of its backward."""

    def __init__(self, k=2.0, name=None):
        super().__init__()
        self.k = k
        self.calls = []
        self.name = name

    def forward(self, inputs):
        return tuple(np.asarray(x * x.dtype.type(self.k)) for x in inputs)

    def backward(self, indexes, grad_outputs):
        self.calls.append((indexes, grad_outputs))
        return tuple(None if grad_outputs[i] is None else grad_outputs[i] * self.k for i in indexes)


class Log(chainer.FunctionHook):
    """Records the events it receives."""

    name = "Log"

    def __init__(self):
        self.events = []

    def _add(self, what, function, in_data, out_grad=None):
        self.events.append((what, function, in_data, out_grad))

    def forward_preprocess(self, function, in_data):
        self._add("forward_preprocess", function, in_data)

    def forward_postprocess(self, function, in_data):
        self._add("forward_postprocess", function, in_data)

    def backward_preprocess(self, function, in_data, out_grad):
        self._add("backward_preprocess", function, in_data, out_grad)

    def backward_postprocess(self, function, in_data, out_grad):
        self._add("backward_postprocess", function, in_data, out_grad)

    def functions(self, what):
        return [function for w, function, _, _ in self.events if w == what]
