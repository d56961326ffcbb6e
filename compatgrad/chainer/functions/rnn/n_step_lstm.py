"""Stacked LSTM over sequences of different lengths."""

from compatgrad.chainer.functions.array.concat import concat
from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.array.stack import stack
from compatgrad.chainer.functions.connection.linear import linear
from compatgrad.chainer.functions.rnn import n_step_rnn
from compatgrad.chainer.functions.rnn.lstm import lstm


def _weights(w, b):
    # Given in the order input gate, forget gate, input, output gate; first of the input, then of the state.
    w_x, w_h, b_x, b_h = (concat(list(p[k : k + 4]), axis=0) for p in (w, b) for k in (0, 4))
    return w_x, n_step_rnn.add_apart(b_x, b_h), w_h, None


def _stack_weight(ws):
    # The rows of all, in turn: as the gates stand in the input of `lstm`.
    w = stack(ws, axis=1)
    return reshape(w, (w.shape[0] * w.shape[1], *w.shape[2:]))


def _lstm(x, h, c, w, b):
    """One step with the weights of `n_step_lstm`: (h, c), as `n_step_rnn_impl` takes it."""
    w_x, w_h, b_x, b_h = (_stack_weight([p[i + k] for i in (2, 0, 1, 3)]) for p in (w, b) for k in (0, 4))
    return lstm(c, linear(x, w_x, b_x) + linear(h, w_h, b_h))[::-1]


class NStepLSTM(n_step_rnn.BaseNStepRNN):
    pass


class NStepBiLSTM(n_step_rnn.BaseNStepRNN):
    pass


def n_step_lstm_base(n_layers, dropout_ratio, hx, cx, ws, bs, xs, use_bi_direction, **kwargs):
    """What `n_step_lstm` and `n_step_bilstm` share."""
    n_step_rnn.check_arguments(ws, xs, kwargs)
    return n_step_rnn.run_layers("lstm", _weights, n_layers, dropout_ratio, hx, cx, ws, bs, xs, use_bi_direction)


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
