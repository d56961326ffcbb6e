"""Stacked LSTM over sequences of different lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatgrad.chainer.functions.array.concat import concat
from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.array.stack import stack
from compatgrad.chainer.functions.connection.linear import linear
from compatgrad.chainer.functions.rnn import n_step_rnn
from compatgrad.chainer.functions.rnn.lstm import lstm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


def _weights(w, b):
    # Chainer's order: input gate, forget gate, candidate and output gate for the input, then the same four for the
    # state.
    w_x, w_h, b_x, b_h = (concat(list(p[k : k + 4]), axis=0) for p in (w, b) for k in (0, 4))
    return w_x, n_step_rnn.add_apart(b_x, b_h), w_h, None


def _stack_weight(ws):
    # `lstm` expects the four gates of a unit next to each other.
    w = stack(ws, axis=1)
    return reshape(w, (w.shape[0] * w.shape[1], *w.shape[2:]))


def _lstm(x, h, c, w, b):
    """One step of an LSTM with the weights of `n_step_lstm`: returns (h, c), the result that `n_step_rnn_impl`
    expects."""
    w_x, w_h, b_x, b_h = (_stack_weight([p[i + k] for i in (2, 0, 1, 3)]) for p in (w, b) for k in (0, 4))
    return lstm(c, linear(x, w_x, b_x) + linear(h, w_h, b_h))[::-1]


class NStepLSTM(n_step_rnn.BaseNStepRNN, instead="n_step_lstm"):
    pass


class NStepBiLSTM(n_step_rnn.BaseNStepRNN, instead="n_step_bilstm"):
    pass


def n_step_lstm_base(
    n_layers: int,
    dropout_ratio: float,
    hx: VariableOrArray,
    cx: VariableOrArray | None,
    ws: Sequence[Sequence[VariableOrArray]],
    bs: Sequence[Sequence[VariableOrArray]],
    xs: Sequence[VariableOrArray],
    use_bi_direction: bool,
    **kwargs: Any,
) -> tuple[Variable, Variable, tuple[Variable, ...]]:
    """The common implementation of `n_step_lstm` and `n_step_bilstm`: stacked long short-term memories in one direction
    or both.

    Args:
        n_layers: the number of layers.
        dropout_ratio: dropout probability, in [0, 1), of the inputs of all layers but the first.
        hx: floating, (layers, b, units), or (2 layers, b, units) for both directions: first state of each layer.
        cx: of the dtype and shape of `hx`: first cell of each layer.
        ws: for each layer and direction, 8 weights: those of the input gate, the forget gate, the candidate and the
            output gate for the input, then for the state; those of the input are (units, in), those of the state
            (units, units).
        bs: for each layer and direction, as many biases (units,).
        xs: for each step, inputs (b, in) of the b sequences that reach this step, the longest sequence first.
        use_bi_direction: True runs each layer in both directions.
        **kwargs: none; those of old versions are refused.

    Returns:
        The last states and cells, of the shape of `hx`, and a tuple with the outputs (b, units) of the last layer for
        each step, or (b, 2 units) for both directions.

    Raises:
        ValueError: the first weights do not fit the length of the inputs, or a removed option of older Chainer versions
            is given.

    Example:
        >>> hx, ws, bs = np.zeros((2, 2, 1)), [[np.ones((1, 1))] * 8] * 2, [[np.zeros(1)] * 8] * 2
        >>> xs = [np.array([[1.0], [2.0]]), np.array([[1.0]])]  # the first sequence has two steps, the second one
        >>> hy, cy, ys = F.rnn.n_step_lstm.n_step_lstm_base(1, 0.0, hx, hx, ws, bs, xs, use_bi_direction=True)
        >>> hy.shape, [y.shape for y in ys], hy.array[0].round(4)
        ((2, 2, 1), [(2, 2), (1, 2)], array([[0.6505],
               [0.6083]]))

    Source: `chainer.functions.rnn.n_step_lstm.n_step_lstm_base` of Chainer 7.8.1; Hochreiter and Schmidhuber 1997.
    """
    n_step_rnn._check_arguments(ws, xs, kwargs)
    return n_step_rnn._run_layers("lstm", _weights, n_layers, dropout_ratio, hx, cx, ws, bs, xs, use_bi_direction)


def n_step_lstm(
    n_layers: int,
    dropout_ratio: float,
    hx: VariableOrArray,
    cx: VariableOrArray | None,
    ws: Sequence[Sequence[VariableOrArray]],
    bs: Sequence[Sequence[VariableOrArray]],
    xs: Sequence[VariableOrArray],
    **kwargs: Any,
) -> tuple[Variable, Variable, tuple[Variable, ...]]:
    """Stacked long short-term memories over sequences of different lengths.

    Args:
        n_layers: the number of layers.
        dropout_ratio: dropout probability, in [0, 1), of the inputs of all layers but the first.
        hx: floating, (layers, b, units): first state of each layer.
        cx: of the dtype and shape of `hx`: first cell of each layer.
        ws: for each layer, 8 weights: those of the input gate, the forget gate, the candidate and the output gate for
            the input, then for the state; those of the input are (units, in), those of the state (units, units).
        bs: for each layer, as many biases (units,).
        xs: for each step, inputs (b, in) of the b sequences that reach this step, the longest sequence first.
        **kwargs: none; those of old versions are refused.

    Returns:
        The last states and cells, of the shape of `hx`, and a tuple with the outputs (b, units) of the last layer for
        each step.

    Raises:
        ValueError: the first weights do not fit the length of the inputs, or a removed option of older Chainer versions
            is given.

    Example:
        >>> hx, ws, bs = np.zeros((1, 2, 1)), [[np.ones((1, 1))] * 8], [[np.zeros(1)] * 8]
        >>> xs = [np.array([[1.0], [2.0]]), np.array([[1.0]])]  # the first sequence has two steps, the second one
        >>> hy, cy, ys = F.n_step_lstm(1, 0.0, hx, hx, ws, bs, xs)
        >>> hy.shape, [y.shape for y in ys], hy.array[0].round(4)
        ((1, 2, 1), [(2, 1), (1, 1)], array([[0.6505],
               [0.6083]]))

    Source: `chainer.functions.n_step_lstm` of Chainer 7.8.1; Hochreiter and Schmidhuber 1997.
    """
    return n_step_lstm_base(n_layers, dropout_ratio, hx, cx, ws, bs, xs, use_bi_direction=False, **kwargs)


def n_step_bilstm(
    n_layers: int,
    dropout_ratio: float,
    hx: VariableOrArray,
    cx: VariableOrArray | None,
    ws: Sequence[Sequence[VariableOrArray]],
    bs: Sequence[Sequence[VariableOrArray]],
    xs: Sequence[VariableOrArray],
    **kwargs: Any,
) -> tuple[Variable, Variable, tuple[Variable, ...]]:
    """Stacked long short-term memories in both directions over sequences of different lengths.

    Args:
        n_layers: the number of layers.
        dropout_ratio: dropout probability, in [0, 1), of the inputs of all layers but the first.
        hx: floating, (2 layers, b, units): first state of each layer, the two directions of a layer one after the
            other.
        cx: of the dtype and shape of `hx`: first cell of each layer.
        ws: for each layer and direction, 8 weights: those of the input gate, the forget gate, the candidate and the
            output gate for the input, then for the state; those of the input are (units, in), those of the state
            (units, units).
        bs: for each layer and direction, as many biases (units,).
        xs: for each step, inputs (b, in) of the b sequences that reach this step, the longest sequence first.
        **kwargs: none; those of old versions are refused.

    Returns:
        The last states and cells, of the shape of `hx`, and a tuple with the outputs (b, 2 units) of the last layer for
        each step, both directions side by side.

    Raises:
        ValueError: the first weights do not fit the length of the inputs, or a removed option of older Chainer versions
            is given.

    Example:
        >>> hx, ws, bs = np.zeros((2, 2, 1)), [[np.ones((1, 1))] * 8] * 2, [[np.zeros(1)] * 8] * 2
        >>> xs = [np.array([[1.0], [2.0]]), np.array([[1.0]])]  # the first sequence has two steps, the second one
        >>> hy, cy, ys = F.n_step_bilstm(1, 0.0, hx, hx, ws, bs, xs)
        >>> hy.shape, [y.shape for y in ys], hy.array[0].round(4)
        ((2, 2, 1), [(2, 2), (1, 2)], array([[0.6505],
               [0.6083]]))

    Source: `chainer.functions.n_step_bilstm` of Chainer 7.8.1; Hochreiter and Schmidhuber 1997.
    """
    return n_step_lstm_base(n_layers, dropout_ratio, hx, cx, ws, bs, xs, use_bi_direction=True, **kwargs)
