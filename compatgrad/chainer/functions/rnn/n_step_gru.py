"""Stacked GRU over sequences of different lengths."""

from compatgrad.chainer.functions.activation.sigmoid import sigmoid
from compatgrad.chainer.functions.activation.tanh import tanh
from compatgrad.chainer.functions.array.concat import concat
from compatgrad.chainer.functions.array.split_axis import split_axis
from compatgrad.chainer.functions.connection.linear import linear
from compatgrad.chainer.functions.rnn import n_step_rnn


def _weights(w, b):
    # Given in the order reset gate, update gate, new state; first of the input, then of the state.
    w_x, w_h, b_x, b_h = (concat(list(p[k : k + 3]), axis=0) for p in (w, b) for k in (0, 3))
    return w_x, b_x, w_h, b_h


def _gru(x, h, c, w, b):
    """One step with the weights of `n_step_gru`: (h, None), as `n_step_rnn_impl` takes it."""
    w_x, b_x, w_h, b_h = _weights(w, b)
    (r_x, z_x, n_x), (r_h, z_h, n_h) = (split_axis(y, 3, axis=1) for y in (linear(x, w_x, b_x), linear(h, w_h, b_h)))
    z = sigmoid(z_x + z_h)
    return (1 - z) * tanh(n_x + sigmoid(r_x + r_h) * n_h) + z * h, None


class NStepGRU(n_step_rnn.BaseNStepRNN):
    pass


class NStepBiGRU(n_step_rnn.BaseNStepRNN):
    pass


def n_step_gru_base(n_layers, dropout_ratio, hx, ws, bs, xs, use_bi_direction, **kwargs):
    """What `n_step_gru` and `n_step_bigru` share."""
    n_step_rnn.check_arguments(ws, xs, kwargs)
    hy, _, ys = n_step_rnn.run_layers("gru", _weights, n_layers, dropout_ratio, hx, None, ws, bs, xs, use_bi_direction)
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
