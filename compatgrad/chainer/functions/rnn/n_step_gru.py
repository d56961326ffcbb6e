"""Stacked GRU over sequences of different lengths."""

from compatgrad.chainer.functions.array.concat import concat
from compatgrad.chainer.functions.rnn import n_step_rnn


def _weights(w, b):
    # Given in the order reset gate, update gate, new state; first of the input, then of the state.
    w_x, w_h, b_x, b_h = (concat(list(p[k : k + 3]), axis=0) for p in (w, b) for k in (0, 3))
    return w_x, b_x, w_h, b_h


def n_step_gru_base(n_layers, dropout_ratio, hx, ws, bs, xs, use_bi_direction, **kwargs):
    """What `n_step_gru` and `n_step_bigru` share."""
    n_step_rnn.check_arguments(ws, xs, kwargs)
    hy, _, ys = n_step_rnn.n_step_rnn_impl(
        "gru", _weights, n_layers, dropout_ratio, hx, None, ws, bs, xs, use_bi_direction
    )
    return hy, ys


def n_step_gru(n_layers, dropout_ratio, hx, ws, bs, xs, **kwargs):
    """Stacked GRU over a list of time steps `xs`, each (batch, in), batches not growing.

    `hx` (layers, batch, units); `ws[layer]`, `bs[layer]`: six weights and biases, those of the reset gate,
    the update gate and the new state for the input, then for the state. Returns (hy, ys). ValueError for
    another input size.
    """
    return n_step_gru_base(n_layers, dropout_ratio, hx, ws, bs, xs, use_bi_direction=False, **kwargs)


def n_step_bigru(n_layers, dropout_ratio, hx, ws, bs, xs, **kwargs):
    """As `n_step_gru` in both directions: `hx` (2 * layers, …), the outputs of both concatenated."""
    return n_step_gru_base(n_layers, dropout_ratio, hx, ws, bs, xs, use_bi_direction=True, **kwargs)
