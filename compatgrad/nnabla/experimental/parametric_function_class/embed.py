"""The embedding layer."""

from ... import functions as F
from ...initializer import UniformInitializer
from .module import Module, make_parameter


class Embed(Module):
    """`functions.embed` with the parameter W (n_inputs, n_features); see `parametric_functions.embed`."""

    def __init__(self, n_inputs, n_features, w_init=None, fix_parameters=False):
        if w_init is None:
            w_init = UniformInitializer((-(3.0**0.5), 3.0**0.5))
        self.W = make_parameter((n_inputs, n_features), w_init, fix_parameters)

    def __call__(self, inp):
        return F.embed(inp, self.W)
