"""Functions that users of Chainer would have written themselves."""

import chainer
import chainer.functions as F
import numpy as np


class Mix(chainer.FunctionNode):
    """Two inputs, two outputs, any order of derivative."""

    def forward(self, inputs):
        a, b = inputs
        self.retain_inputs((0, 1))
        return np.asarray(a * b), np.asarray(a + np.sin(b))

    def backward(self, indexes, grads):
        a, b = self.get_retained_inputs()
        g0, g1 = grads
        results = []
        for i in indexes:
            terms = []
            if g0 is not None:
                terms.append(g0 * (b if i == 0 else a))
            if g1 is not None:
                terms.append(g1 if i == 0 else g1 * F.cos(b))
            results.append(terms[0] + terms[1] if len(terms) == 2 else terms[0] if terms else None)
        return tuple(results)


class Gate(chainer.FunctionNode):
    """Retains its output; gives gradients only where they are asked for."""

    def __init__(self, slope):
        super().__init__()
        self.slope = slope

    @property
    def label(self):
        return f"Gate({self.slope})"

    def forward(self, inputs):
        self.retain_outputs((0,))
        return (np.asarray(np.tanh(self.slope * inputs[0]), inputs[0].dtype),)

    def backward(self, indexes, grads):
        (y,) = self.get_retained_outputs()
        return (grads[0] * (1 - y * y) * self.slope,)


class Accumulate(chainer.FunctionNode):
    """A product that adds to the gradients that are there already, as fused functions do."""

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        return (np.asarray(inputs[0] * inputs[1]),)

    def backward_accumulate(self, target_input_indexes, grad_outputs, grad_inputs):
        retained = self.get_retained_inputs()
        (gy,) = grad_outputs
        results = []
        for index, so_far in zip(target_input_indexes, grad_inputs):  # noqa: B905
            g = gy * retained[1 - index]
            results.append(g if so_far is None else so_far + g)
        return tuple(results)


class OldCube(chainer.Function):
    """Old style: arrays in, arrays out, differentiable once."""

    def forward(self, inputs):
        return (np.asarray(inputs[0] ** 3),)

    def backward(self, inputs, grad_outputs):
        return (np.asarray(3 * inputs[0] ** 2 * grad_outputs[0]),)


class OldPair(chainer.Function):
    """Old style with two outputs, one of which may get no gradient."""

    def forward(self, inputs):
        a, b = inputs
        self.retain_inputs((1,))
        self.retain_outputs((0,))
        return np.asarray(a * np.cos(b)), np.asarray(a - b)

    def backward(self, inputs, grad_outputs):
        b = inputs[1]
        product = self.output_data[0]
        g0, g1 = grad_outputs
        ga, gb = np.zeros_like(b), np.zeros_like(b)
        if g0 is not None:
            ga += g0 * np.cos(b)
            gb -= g0 * product * np.tan(b)
        if g1 is not None:
            ga += g1
            gb -= g1
        return ga, gb


def mix(a, b):
    return Mix().apply((a, b))


def gate(a, slope):
    return Gate(slope).apply((a,))[0]


def accumulate(a, b):
    return Accumulate().apply((a, b))[0]


def old_cube(a):
    return OldCube()(a)


def old_pair(a, b):
    return OldPair()(a, b)
