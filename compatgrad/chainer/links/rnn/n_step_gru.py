from __future__ import annotations

import compatgrad.chainer.functions as F
from compatgrad.chainer.links.rnn import n_step_rnn


class NStepGRUBase(n_step_rnn.NStepRNNBase):
    """The base class of `NStepGRU` and `NStepBiGRU`: six weights for each layer, three on the input and three on the
    state. See `NStepRNNBase` for inputs and results.

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
        >>> len(L.NStepGRU(1, 3, 2, 0.0).ws[0])
        6

    Source: `chainer.links.rnn.n_step_gru.NStepGRUBase` of Chainer 7.8.1.
    """

    n_weights = 6
    n_cells = 1


class NStepGRU(NStepGRUBase):
    """Stack of GRU layers, from first to last element. See `NStepRNNBase` for inputs and results.

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
        >>> link = L.NStepGRU(1, 3, 2, 0.0)
        >>> hy, ys = link(None, [np.ones((n, 3), np.float32) for n in (4, 2)])
        >>> hy.shape, [y.shape for y in ys]
        ((1, 2, 2), [(4, 2), (2, 2)])

    Source: `chainer.links.NStepGRU` of Chainer 7.8.1; Cho et al., 2014.
    """

    use_bi_direction = False
    _function = staticmethod(F.n_step_gru)


class NStepBiGRU(NStepGRUBase):
    """Stack of GRU layers in both directions, whose outputs are joined. See `NStepRNNBase` for inputs and results.

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
        >>> link = L.NStepBiGRU(1, 3, 2, 0.0)
        >>> hy, ys = link(None, [np.ones((n, 3), np.float32) for n in (4, 2)])
        >>> hy.shape, [y.shape for y in ys]
        ((2, 2, 2), [(4, 4), (2, 4)])

    Source: `chainer.links.NStepBiGRU` of Chainer 7.8.1; Cho et al., 2014.
    """

    use_bi_direction = True
    _function = staticmethod(F.n_step_bigru)
