from __future__ import annotations

from typing import TYPE_CHECKING, Any

import compatgrad.chainer.functions as F
from compatgrad.chainer.links.rnn import n_step_rnn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class NStepLSTMBase(n_step_rnn.NStepRNNBase):
    """The base class of `NStepLSTM` and `NStepBiLSTM`: eight weights for each layer, and cells in addition to the
    outputs. Called as `hy, cy, ys = link(hx, cx, xs)`. See `NStepRNNBase` for inputs and results.

    Args:
        n_layers: number of layers on top of one another.
        in_size: length of the input vectors; None takes it from the first input.
        out_size: length of the output vectors.
        dropout: ratio of elements that are dropped between the layers, in training.
        initialW: initializer of W: a callable that fills an array, a number for all elements, or an array of W's shape.
            None is `LeCunNormal()`.
        initial_bias: initializer of b, in the forms of `initialW`; None is 0.
        **kwargs: none; removed options of older Chainer versions raise an error that names the replacement.

    Example:
        >>> len(L.NStepLSTM(1, 3, 2, 0.0).ws[0])
        8

    Source: `chainer.links.rnn.n_step_lstm.NStepLSTMBase` of Chainer 7.8.1.
    """

    n_weights = 8
    n_cells = 2

    def forward(
        self, hx: VariableOrArray | None, cx: VariableOrArray | None, xs: Sequence[VariableOrArray], **kwargs: Any
    ) -> tuple[Variable, Variable, list[Variable]]:
        """Last outputs, last cells and the sequences of outputs; `None` starts from zeros."""
        (hy, cy), ys = self._call([hx, cx], xs, **kwargs)
        return hy, cy, ys


class NStepLSTM(NStepLSTMBase):
    """Stack of LSTM layers over sequences of different lengths, from first to last element. Called as `hy, cy, ys =
    link(hx, cx, xs)`, with `xs` a list of floating-point arrays of shape (length, in_size), `ys` one of shape
    (length, out_size), and states of shape (n_layers, batch, out_size), or None for zeros.

    Args:
        n_layers: number of layers on top of one another.
        in_size: length of the input vectors; None takes it from the first input.
        out_size: length of the output vectors.
        dropout: ratio of elements that are dropped between the layers, in training.
        initialW: initializer of W: a callable that fills an array, a number for all elements, or an array of W's shape.
            None is `LeCunNormal()`.
        initial_bias: initializer of b, in the forms of `initialW`; None is 0.
        **kwargs: none; removed options of older Chainer versions raise an error that names the replacement.

    Example:
        >>> link = L.NStepLSTM(1, 3, 2, 0.0)
        >>> hy, cy, ys = link(None, None, [np.ones((n, 3), np.float32) for n in (4, 2)])
        >>> hy.shape, [y.shape for y in ys]
        ((1, 2, 2), [(4, 2), (2, 2)])

    Source: `chainer.links.NStepLSTM` of Chainer 7.8.1; Hochreiter and Schmidhuber, 1997.
    """

    use_bi_direction = False
    _function = staticmethod(F.n_step_lstm)


class NStepBiLSTM(NStepLSTMBase):
    """Stack of LSTM layers in both directions, whose outputs are joined: `ys` has arrays of shape (length, 2 *
    out_size), states have shape (2 * n_layers, batch, out_size). See `NStepLSTM`.

    Args:
        n_layers: number of layers on top of one another.
        in_size: length of the input vectors; None takes it from the first input.
        out_size: length of the output vectors.
        dropout: ratio of elements that are dropped between the layers, in training.
        initialW: initializer of W: a callable that fills an array, a number for all elements, or an array of W's shape.
            None is `LeCunNormal()`.
        initial_bias: initializer of b, in the forms of `initialW`; None is 0.
        **kwargs: none; removed options of older Chainer versions raise an error that names the replacement.

    Example:
        >>> link = L.NStepBiLSTM(1, 3, 2, 0.0)
        >>> hy, cy, ys = link(None, None, [np.ones((n, 3), np.float32) for n in (4, 2)])
        >>> hy.shape, [y.shape for y in ys]
        ((2, 2, 2), [(4, 4), (2, 4)])

    Source: `chainer.links.NStepBiLSTM` of Chainer 7.8.1; Hochreiter and Schmidhuber, 1997.
    """

    use_bi_direction = True
    _function = staticmethod(F.n_step_bilstm)
