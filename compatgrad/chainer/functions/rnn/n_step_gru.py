"""Stacked GRU over sequences of different lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatgrad.chainer.functions.activation.sigmoid import sigmoid
from compatgrad.chainer.functions.activation.tanh import tanh
from compatgrad.chainer.functions.array.concat import concat
from compatgrad.chainer.functions.array.split_axis import split_axis
from compatgrad.chainer.functions.connection.linear import linear
from compatgrad.chainer.functions.rnn import n_step_rnn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


def _weights(w, b):
    # Chainer's order: reset gate, update gate and new state for the input, then the same three for the state.
    w_x, w_h, b_x, b_h = (concat(list(p[k : k + 3]), axis=0) for p in (w, b) for k in (0, 3))
    return w_x, b_x, w_h, b_h


def _gru(x, h, c, w, b):
    """One step of a GRU with the weights of `n_step_gru`: returns (h, None), the result that `n_step_rnn_impl`
    expects."""
    w_x, b_x, w_h, b_h = _weights(w, b)
    (r_x, z_x, n_x), (r_h, z_h, n_h) = (split_axis(y, 3, axis=1) for y in (linear(x, w_x, b_x), linear(h, w_h, b_h)))
    z = sigmoid(z_x + z_h)
    return (1 - z) * tanh(n_x + sigmoid(r_x + r_h) * n_h) + z * h, None


class NStepGRU(n_step_rnn.BaseNStepRNN, instead="n_step_gru"):
    pass


class NStepBiGRU(n_step_rnn.BaseNStepRNN, instead="n_step_bigru"):
    pass


def n_step_gru_base(
    n_layers: int,
    dropout_ratio: float,
    hx: VariableOrArray,
    ws: Sequence[Sequence[VariableOrArray]],
    bs: Sequence[Sequence[VariableOrArray]],
    xs: Sequence[VariableOrArray],
    use_bi_direction: bool,
    **kwargs: Any,
) -> tuple[Variable, tuple[Variable, ...]]:
    """The common implementation of `n_step_gru` and `n_step_bigru`: stacked gated recurrent units in one direction or
    both.

    Args:
        n_layers: the number of layers.
        dropout_ratio: dropout probability, in [0, 1), of the inputs of all layers but the first.
        hx: floating, (layers, b, units), or (2 layers, b, units) for both directions: first state of each layer.
        ws: for each layer and direction, 6 weights: those of the reset gate, the update gate and the new state for the
            input, then for the state; those of the input are (units, in), those of the state (units, units).
        bs: for each layer and direction, as many biases (units,).
        xs: for each step, inputs (b, in) of the b sequences that reach this step, the longest sequence first.
        use_bi_direction: True runs each layer in both directions.
        **kwargs: none; those of old versions are refused.

    Returns:
        The last states, of the shape of `hx`, and a tuple with the outputs (b, units) of the last layer for each step,
        or (b, 2 units) for both directions.

    Raises:
        ValueError: the first weights do not fit the length of the inputs, or a removed option of older Chainer versions
            is given.

    Example:
        >>> hx, ws, bs = np.zeros((2, 2, 1)), [[np.ones((1, 1))] * 6] * 2, [[np.zeros(1)] * 6] * 2
        >>> xs = [np.array([[1.0], [2.0]]), np.array([[1.0]])]  # the first sequence has two steps, the second one
        >>> hy, ys = F.rnn.n_step_gru.n_step_gru_base(1, 0.0, hx, ws, bs, xs, use_bi_direction=True)
        >>> hy.shape, [y.shape for y in ys], hy.array[0].round(4)
        ((2, 2, 1), [(2, 2), (1, 2)], array([[0.3468],
               [0.1149]]))

    Source: `chainer.functions.rnn.n_step_gru.n_step_gru_base` of Chainer 7.8.1; Cho et al. 2014.
    """
    n_step_rnn._check_arguments(ws, xs, kwargs)
    hy, _, ys = n_step_rnn._run_layers("gru", _weights, n_layers, dropout_ratio, hx, None, ws, bs, xs, use_bi_direction)
    return hy, ys


def n_step_gru(
    n_layers: int,
    dropout_ratio: float,
    hx: VariableOrArray,
    ws: Sequence[Sequence[VariableOrArray]],
    bs: Sequence[Sequence[VariableOrArray]],
    xs: Sequence[VariableOrArray],
    **kwargs: Any,
) -> tuple[Variable, tuple[Variable, ...]]:
    """Stacked gated recurrent units over sequences of different lengths.

    Args:
        n_layers: the number of layers.
        dropout_ratio: dropout probability, in [0, 1), of the inputs of all layers but the first.
        hx: floating, (layers, b, units): first state of each layer.
        ws: for each layer, 6 weights: those of the reset gate, the update gate and the new state for the input, then
            for the state; those of the input are (units, in), those of the state (units, units).
        bs: for each layer, as many biases (units,).
        xs: for each step, inputs (b, in) of the b sequences that reach this step, the longest sequence first.
        **kwargs: none; those of old versions are refused.

    Returns:
        The last states, of the shape of `hx`, and a tuple with the outputs (b, units) of the last layer for each step.

    Raises:
        ValueError: the first weights do not fit the length of the inputs, or a removed option of older Chainer versions
            is given.

    Example:
        >>> hx, ws, bs = np.zeros((1, 2, 1)), [[np.ones((1, 1))] * 6], [[np.zeros(1)] * 6]
        >>> xs = [np.array([[1.0], [2.0]]), np.array([[1.0]])]  # the first sequence has two steps, the second one
        >>> hy, ys = F.n_step_gru(1, 0.0, hx, ws, bs, xs)
        >>> hy.shape, [y.shape for y in ys], hy.array[0].round(4)
        ((1, 2, 1), [(2, 1), (1, 1)], array([[0.3468],
               [0.1149]]))

    Source: `chainer.functions.n_step_gru` of Chainer 7.8.1; Cho et al. 2014.
    """
    return n_step_gru_base(n_layers, dropout_ratio, hx, ws, bs, xs, use_bi_direction=False, **kwargs)


def n_step_bigru(
    n_layers: int,
    dropout_ratio: float,
    hx: VariableOrArray,
    ws: Sequence[Sequence[VariableOrArray]],
    bs: Sequence[Sequence[VariableOrArray]],
    xs: Sequence[VariableOrArray],
    **kwargs: Any,
) -> tuple[Variable, tuple[Variable, ...]]:
    """Stacked gated recurrent units in both directions over sequences of different lengths.

    Args:
        n_layers: the number of layers.
        dropout_ratio: dropout probability, in [0, 1), of the inputs of all layers but the first.
        hx: floating, (2 layers, b, units): first state of each layer, the two directions of a layer one after the
            other.
        ws: for each layer and direction, 6 weights: those of the reset gate, the update gate and the new state for the
            input, then for the state; those of the input are (units, in), those of the state (units, units).
        bs: for each layer and direction, as many biases (units,).
        xs: for each step, inputs (b, in) of the b sequences that reach this step, the longest sequence first.
        **kwargs: none; those of old versions are refused.

    Returns:
        The last states, of the shape of `hx`, and a tuple with the outputs (b, 2 units) of the last layer for each
        step, both directions side by side.

    Raises:
        ValueError: the first weights do not fit the length of the inputs, or a removed option of older Chainer versions
            is given.

    Example:
        >>> hx, ws, bs = np.zeros((2, 2, 1)), [[np.ones((1, 1))] * 6] * 2, [[np.zeros(1)] * 6] * 2
        >>> xs = [np.array([[1.0], [2.0]]), np.array([[1.0]])]  # the first sequence has two steps, the second one
        >>> hy, ys = F.n_step_bigru(1, 0.0, hx, ws, bs, xs)
        >>> hy.shape, [y.shape for y in ys], hy.array[0].round(4)
        ((2, 2, 1), [(2, 2), (1, 2)], array([[0.3468],
               [0.1149]]))

    Source: `chainer.functions.n_step_bigru` of Chainer 7.8.1; Cho et al. 2014.
    """
    return n_step_gru_base(n_layers, dropout_ratio, hx, ws, bs, xs, use_bi_direction=True, **kwargs)
