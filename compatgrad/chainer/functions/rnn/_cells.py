"""Cells as single functions, for links and stacked networks; Chainer composes the same cells of elementary
functions."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check


class _Cell(_native.NativeFunction):
    """A function of inputs (n, width * units, ...), where `widths` has the width of each input."""

    widths = ()

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == len(self.widths))
        units = in_types[0]
        type_check.expect(units.dtype.kind == "f", units.ndim >= 2)
        for t, width in zip(in_types, self.widths, strict=True):
            type_check.expect(
                t.dtype == units.dtype, t.ndim == units.ndim, t.shape[0] == units.shape[0],
                t.shape[1] == width * units.shape[1],
            )  # fmt: skip
            for i in range(2, type_check.eval(units.ndim)):
                type_check.expect(t.shape[i] == units.shape[i])


class GRU(_Cell):
    op = "gru"
    widths = 1, 3, 3


class GRUReset(_Cell):
    op = "gru_reset"
    widths = 1, 1, 1


class GRUUpdate(_Cell):
    op = "gru_update"
    widths = 1, 1, 1, 1, 1


class PeepholeCell(_Cell):
    op = "peephole_cell"
    widths = 1, 4, 1, 1


class PeepholeOutput(_Cell):
    op = "peephole_output"
    widths = 1, 1, 1


class MGUReset(_Cell):
    op = "mgu_reset"
    widths = 1, 1


class MGUUpdate(_Cell):
    op = "mgu_update"
    widths = 1, 1, 1


def _function(cls, name, doc):
    def fallback(*inputs):
        y = cls().apply(inputs)
        return y if len(y) > 1 else y[0]

    return frontend.bind(cls.op, fallback, name=name, module=__name__, doc=doc)


gru = _function(GRU, "gru", "The next state of a GRU, from `h` and the gates r, z, n of the input and of the state.")
gru_reset = _function(GRUReset, "gru_reset", "`sigmoid(a + b) * h`.")
gru_update = _function(
    GRUUpdate, "gru_update", "`z * tanh(n_x + n_h) + (1 - z) * h` from z_x, z_h, n_x, n_h, h; z = sigmoid(z_x + z_h)."
)
peephole_cell = _function(
    PeepholeCell, "peephole_cell", "The next cell and o, from c, the gates, and the peephole terms of i and f."
)
peephole_output = _function(PeepholeOutput, "peephole_output", "`sigmoid(o + peep) * tanh(c)` from c, o, peep.")
mgu_reset = _function(MGUReset, "mgu_reset", "`sigmoid(f) * h`.")
mgu_update = _function(MGUUpdate, "mgu_update", "`f * tanh(n) + (1 - f) * h` with the sigmoid of the first input.")
