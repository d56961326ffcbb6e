"""Stacked recurrent networks over sequences of different lengths: what they share, and the plain network."""

import itertools

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions.array.concat import concat
from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.array.separate import separate
from compatgrad.chainer.functions.array.split_axis import split_axis
from compatgrad.chainer.functions.array.stack import stack
from compatgrad.chainer.functions.connection.linear import linear
from compatgrad.chainer.functions.noise.dropout import dropout
from compatgrad.chainer.functions.rnn._layer import rnn_layer
from compatgrad.chainer.utils import argument

_ACTIVATIONS = ("tanh", "relu")
# Optimizer hooks write into gradients: those of a gate's two biases are arrays of their own.
add_apart = frontend.bind("add_apart", dtype="same")


def check_arguments(ws, xs, kwargs):
    """Refuses keywords of old versions, and inputs of another size than the first weights take."""
    if kwargs:
        advice = "argument is not supported anymore. Use chainer.using_config"
        argument.check_unexpected_kwargs(kwargs, train=f"train {advice}", use_cudnn=f"use_cudnn {advice}")
        argument.assert_kwargs_empty(kwargs)
    x_in, w_in = xs[0].shape[1], ws[0][0].shape[1]
    if x_in != w_in:
        raise ValueError(f"Inconsistent input size in input values and weight parameters: {x_in} != {w_in}")


def _cut(state, batch):
    return (None, None) if state is None else split_axis(state, [batch], axis=0)


def _one_direction(mode, weights, x, batches, backward, h, c):
    """One layer on `x`, all steps' samples below one another: all outputs, and the last h and c.

    The inputs' part of all steps is one product; only the state's part waits for the step before.
    """
    w_x, b_x, w_h, b_h = weights
    runs = [(batch, len(list(steps))) for batch, steps in itertools.groupby(batches)]
    rows = list(itertools.accumulate(batch * steps for batch, steps in runs))
    parts = list(zip(split_axis(linear(x, w_x, b_x), rows[:-1], axis=0), runs, strict=True))
    ys = []
    for part, (batch, steps) in reversed(parts) if backward else parts:
        rest = None
        if len(h) > batch:  # sequences come sorted by length: the last rows have ended, or did not begin
            (h, *rest), (c, *more) = (_cut(s, batch) for s in (h, c))
            rest += more
        part = reshape(part, (steps, batch, part.shape[1]))
        y = rnn_layer(part, h, c, w_h, b_h, mode=mode, order="ifao", reverse=backward)
        y = y if isinstance(y, tuple) else (y,)
        out, *cells = (reshape(v, (steps * batch, v.shape[2])) for v in y[: 1 if c is None else 2])
        ys.append(out)
        last = 0 if backward else (steps - 1) * batch
        h, c = [v if steps == 1 else v[last : last + batch] for v in (out, *cells)] + [None] * (c is None)
        if rest is not None:
            h, c = (None if s is None else concat([s, r], axis=0) for s, r in zip((h, c), rest, strict=True))
    ys = ys[::-1] if backward else ys
    return ys[0] if len(ys) == 1 else concat(ys, axis=0), h, c


def run_layers(mode, weights, n_layers, dropout_ratio, hx, cx, ws, bs, xs, use_bi_direction):
    """Runs layers of `mode` ("lstm", "gru", "rnn_tanh", "rnn_relu"). Returns (hy, cy or None, tuple of outputs).

    `weights`, a function of one layer's weights and biases, gives those of the inputs and those of the state.
    """
    hx = separate(hx)
    cx = [None] * len(hx) if cx is None else separate(cx)
    batches = [len(x) for x in xs]
    hy, cy, y = [], [], concat(xs, axis=0)
    for layer in range(n_layers):
        outputs = []
        for direction in range(2 if use_bi_direction else 1):
            x = y if layer == 0 else dropout(y, ratio=dropout_ratio)
            k = len(hy)
            out, h, c = _one_direction(mode, weights(ws[k], bs[k]), x, batches, direction == 1, hx[k], cx[k])
            hy.append(h)
            cy.append(c)
            outputs.append(out)
        y = concat(outputs, axis=1) if use_bi_direction else outputs[0]
    ys = split_axis(y, list(itertools.accumulate(batches))[:-1], axis=0)
    return stack(hy), None if cy[0] is None else stack(cy), tuple(ys)


def n_step_rnn_impl(f, n_layers, dropout_ratio, hx, cx, ws, bs, xs, use_bi_direction):
    """Runs a stacked network step by step, with a cell of the caller's. Returns (hy, cy or None, tuple of outputs).

    `f(x, h, c, w, b)` gives the next h and c for the inputs `x` of one step; c is None where `cx` is.
    """
    hx = separate(hx)
    cx = [None] * len(hx) if cx is None else separate(cx)
    hy, cy = [], []
    for layer in range(n_layers):
        if layer > 0:
            xs = [dropout(x, ratio=dropout_ratio) for x in xs]
        outputs = []
        for backward in (False, True)[: 1 + use_bi_direction]:
            k = len(hy)
            h, c, ys = _one_directional_loop(f, xs[::-1] if backward else xs, hx[k], cx[k], ws[k], bs[k])
            hy.append(h)
            cy.append(c)
            outputs.append(ys[::-1] if backward else ys)
        xs = [concat(pair, axis=1) for pair in zip(*outputs, strict=True)] if use_bi_direction else outputs[0]
    return stack(hy), None if cy[0] is None else stack(cy), tuple(xs)


def _one_directional_loop(f, xs, h, c, w, b):
    ys = []
    for x in xs:
        batch, rest = len(x), None
        if len(h) > batch:
            (h, *rest), (c, *more) = (_cut(s, batch) for s in (h, c))
            rest += more
        h, c = f(x, h, c, w, b)
        ys.append(h)
        if rest is not None:
            h, c = (None if s is None else concat([s, r], axis=0) for s, r in zip((h, c), rest, strict=True))
    return h, c, ys


class BaseNStepRNN:
    """A stacked network of cuDNN's in the original. Making one raises RuntimeError: `n_step_rnn`, `n_step_lstm` and
    `n_step_gru` run the engine's, on every device.
    """

    def __init__(self, *args, **kwargs):
        raise RuntimeError(f"{type(self).__name__} is cuDNN's. Call n_step_rnn, n_step_lstm or n_step_gru instead.")


class NStepRNNTanh(BaseNStepRNN):
    pass


class NStepRNNReLU(BaseNStepRNN):
    pass


class NStepBiRNNTanh(BaseNStepRNN):
    pass


class NStepBiRNNReLU(BaseNStepRNN):
    pass


def _plain_weights(w, b):
    return w[0], add_apart(b[0], b[1]), w[1], None


def n_step_rnn_base(n_layers, dropout_ratio, hx, ws, bs, xs, activation, use_bi_direction, **kwargs):
    """What `n_step_rnn` and `n_step_birnn` share."""
    if activation not in _ACTIVATIONS:
        raise ValueError(f'Invalid activation: "{activation}". Please select from [{",".join(_ACTIVATIONS)}]')
    check_arguments(ws, xs, kwargs)
    mode = f"rnn_{activation}"
    hy, _, ys = run_layers(mode, _plain_weights, n_layers, dropout_ratio, hx, None, ws, bs, xs, use_bi_direction)
    return hy, ys


def n_step_rnn(n_layers, dropout_ratio, hx, ws, bs, xs, activation="tanh", **kwargs):
    """Stacked recurrent network over a list of time steps `xs`, each (batch, in), batches not growing.

    `hx` (layers, batch, units); `ws[layer]`, `bs[layer]`: the two weights and biases, of the input and of
    the state. `activation` is "tanh" or "relu". Returns (hy, ys). Raises ValueError for other activations or
    input sizes.
    """
    return n_step_rnn_base(n_layers, dropout_ratio, hx, ws, bs, xs, activation, use_bi_direction=False, **kwargs)


def n_step_birnn(n_layers, dropout_ratio, hx, ws, bs, xs, activation="tanh", **kwargs):
    """As `n_step_rnn` in both directions: `hx` (2 * layers, …), the outputs of both concatenated."""
    return n_step_rnn_base(n_layers, dropout_ratio, hx, ws, bs, xs, activation, use_bi_direction=True, **kwargs)
