"""The affine layer."""

import numpy

from ... import functions as F
from ...initializer import UniformInitializer, calc_uniform_lim_glorot
from .module import Module, make_parameter


class Affine(Module):
    """`functions.affine` with parameters W (n_inmaps, n_outmaps) and b (n_outmaps); see `parametric_functions`."""

    def __init__(
        self,
        n_inmaps,
        n_outmaps,
        base_axis=1,
        w_init=None,
        b_init=None,
        fix_parameters=False,
        rng=None,
        with_bias=True,
    ):
        n_outmap = int(numpy.prod(n_outmaps))
        if w_init is None:
            w_init = UniformInitializer(calc_uniform_lim_glorot(n_inmaps, n_outmap), rng=rng)
        self.W = make_parameter((n_inmaps, n_outmap), w_init, fix_parameters)
        self.b = make_parameter((n_outmap,), b_init, fix_parameters) if with_bias else None
        self.base_axis = base_axis

    def __call__(self, inp):
        return F.affine(inp, self.W, self.b, self.base_axis)


Linear = Affine
