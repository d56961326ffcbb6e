"""A link that computes a part of a Theano graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from compatgrad.chainer import link
from compatgrad.chainer.functions.theano import theano_function

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


def _to_var_tuple(variables):
    from theano.tensor import TensorVariable

    if isinstance(variables, TensorVariable):
        return (variables,)
    found = tuple(variables) if isinstance(variables, Iterable) else None
    if found is None or not all(isinstance(v, TensorVariable) for v in found):
        raise TypeError(f"inputs and outputs: expected a TensorVariable, or a list or tuple of them, got {variables!r}")
    return found


class TheanoFunction(link.Link):
    """The part of a Theano graph between the TensorVariables `inputs` and `outputs`, as a link: Theano compiles it when
    the link is made, and computes it. Arrays have the dtypes and numbers of axes of the TensorVariables.

    Args:
        inputs: a TensorVariable, or a list or tuple of them.
        outputs: a TensorVariable, or a list or tuple of them.

    Raises:
        RuntimeError: Theano is not installed.
        TypeError: `inputs` or `outputs` are neither a TensorVariable nor a list or tuple of them.

    Example:
        >>> L.TheanoFunction(None, None)
        Traceback (most recent call last):
          ...
        RuntimeError: theano is not installed on your environment. Install theano to activate theano function.

    Source: `chainer.links.TheanoFunction` of Chainer 7.8.1.
    """

    def __init__(self, inputs: Any, outputs: Any) -> None:
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

    def forward(self, *args: VariableOrArray) -> Variable | tuple[Variable, ...]:
        """The outputs for arrays or Variables that take the place of `inputs`: a Variable, or a tuple of several."""
        return theano_function.theano_function(self.forward_func, self.backward_func, *args)
