"""Stacked LSTM over sequences of different lengths."""

from compatgrad.chainer.functions.array.concat import concat
from compatgrad.chainer.functions.rnn import n_step_rnn


def _weights(w, b):
    # Given in the order input gate, forget gate, input, output gate; first of the input, then of the state.
    w_x, w_h, b_x, b_h = (concat(list(p[k : k + 4]), axis=0) for p in (w, b) for k in (0, 4))
    return w_x, b_x + b_h, w_h, None


def n_step_lstm_base(n_layers, dropout_ratio, hx, cx, ws, bs, xs, use_bi_direction, **kwargs):
    """What `n_step_lstm` and `n_step_bilstm` share."""
    n_step_rnn.check_arguments(ws, xs, kwargs)
    return n_step_rnn.n_step_rnn_impl("lstm", _weights, n_layers, dropout_ratio, hx, cx, ws, bs, xs, use_bi_direction)


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
