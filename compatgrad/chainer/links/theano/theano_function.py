"""A part of a Theano graph as a link."""

from collections.abc import Iterable

from compatgrad.chainer import link
from compatgrad.chainer.functions.theano.theano_function import theano_function


def _to_var_tuple(variables):
    from theano.tensor import TensorVariable

    if isinstance(variables, TensorVariable):
        return (variables,)
    found = tuple(variables) if isinstance(variables, Iterable) else None
    if found is None or not all(isinstance(v, TensorVariable) for v in found):
        raise TypeError(f"inputs and outputs: expected a TensorVariable, or a list or tuple of them, got {variables!r}")
    return found


class TheanoFunction(link.Link):
    """The part of a Theano graph between the TensorVariables `inputs` and `outputs` (one, or a list or tuple), as a
    link: compiled when it is made, computed by Theano. RuntimeError without Theano, TypeError for other inputs.
    """

    def __init__(self, inputs, outputs):
        try:
            import theano
        except ImportError as e:
            raise RuntimeError(
                "theano is not installed on your environment. Install theano to activate theano function."
            ) from e
        super().__init__()
        inputs, outputs = _to_var_tuple(inputs), _to_var_tuple(outputs)
        given = tuple(y.type(f"g_{i}") for i, y in enumerate(outputs))
        gradients = theano.tensor.grad(
            cost=None, wrt=inputs, known_grads=dict(zip(outputs, given, strict=True)), disconnected_inputs="ignore"
        )
        self.forward_func = theano.function(inputs=inputs, outputs=outputs)
        self.backward_func = theano.function(inputs=inputs + given, outputs=gradients, on_unused_input="ignore")

    def forward(self, *args):
        return theano_function(self.forward_func, self.backward_func, *args)
