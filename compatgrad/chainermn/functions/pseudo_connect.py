"""Makes one Variable come after another in backward, though it is not computed from it."""

import numpy

import compatgrad.chainer as chainer


class PseudoConnect(chainer.FunctionNode):
    """Its inputs but the first, unchanged; the first one's gradient is zeros."""

    def forward(self, inputs):
        delegate = inputs[0]
        self._delegate = delegate.shape, delegate.dtype, chainer.backend.get_array_module(delegate)
        return inputs[1:]

    def backward(self, target_input_indexes, grad_outputs):
        shape, dtype, xp = self._delegate
        every = (chainer.Variable(xp.zeros(shape, dtype)), *grad_outputs)
        return tuple(every[i] for i in target_input_indexes)


def pseudo_connect(delegate_variable, *actual_variables):
    """A tuple of the actual variables. Backward goes through them before it goes through `delegate_variable`, which
    may be None.
    """
    chainer.utils.experimental("chainermn.functions.pseudo_connect")
    if delegate_variable is None:
        xp = chainer.backend.get_array_module(*actual_variables)
        delegate_variable = chainer.Variable(xp.empty(0, numpy.float32))
    return PseudoConnect().apply((delegate_variable, *actual_variables))
