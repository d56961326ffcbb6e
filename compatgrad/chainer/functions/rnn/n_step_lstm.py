"""Stacked LSTM over sequences of different lengths."""

from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.array.stack import stack
from compatgrad.chainer.functions.connection.linear import linear
from compatgrad.chainer.functions.rnn import n_step_rnn
from compatgrad.chainer.functions.rnn.lstm import lstm


def _stack_weight(ws):
    # The four numbers of a unit side by side, as `lstm` takes them.
    w = stack(ws, axis=1)
    return reshape(w, (w.shape[0] * w.shape[1], *w.shape[2:]))


def _cell(w, b):
    # Given in the order input gate, forget gate, input, output gate; first of the input, then of the state.
    w_x, w_h, b_x, b_h = (_stack_weight([p[k + 2], p[k], p[k + 1], p[k + 3]]) for p in (w, b) for k in (0, 4))

    def step(x, h, c):
        c, h = lstm(c, x + linear(h, w_h, b_h))
        return h, c

    return w_x, b_x, step


def n_step_lstm_base(n_layers, dropout_ratio, hx, cx, ws, bs, xs, use_bi_direction, **kwargs):
    """What `n_step_lstm` and `n_step_bilstm` share."""
    n_step_rnn.check_arguments(ws, xs, kwargs)
    return n_step_rnn.n_step_rnn_impl(_cell, n_layers, dropout_ratio, hx, cx, ws, bs, xs, use_bi_direction)


def n_step_lstm(n_layers, dropout_ratio, hx, cx, ws, bs, xs, **kwargs):
    """Stacked LSTM over a list of time steps `xs`, each (batch, in), batches not growing.

    `hx`, `cx` (layers, batch, units); `ws[layer]`, `bs[layer]`: eight weights and biases, those of the input
    gate, forget gate, input and output gate for the input, then for the state. Returns (hy, cy, ys).
    ValueError for another input size.
    """
    return n_step_lstm_base(n_layers, dropout_ratio, hx, cx, ws, bs, xs, use_bi_direction=False, **kwargs)


def n_step_bilstm(n_layers, dropout_ratio, hx, cx, ws, bs, xs, **kwargs):
    """As `n_step_lstm` in both directions: `hx`, `cx` (2 * layers, …), the outputs of both concatenated."""
    return n_step_lstm_base(n_layers, dropout_ratio, hx, cx, ws, bs, xs, use_bi_direction=True, **kwargs)
