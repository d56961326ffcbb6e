"""Stacked recurrent networks over sequences of different lengths: what they share, and the plain network."""

import itertools

from compatgrad.chainer.functions.activation.relu import relu
from compatgrad.chainer.functions.activation.tanh import tanh
from compatgrad.chainer.functions.array.concat import concat
from compatgrad.chainer.functions.array.separate import separate
from compatgrad.chainer.functions.array.split_axis import split_axis
from compatgrad.chainer.functions.array.stack import stack
from compatgrad.chainer.functions.connection.linear import linear
from compatgrad.chainer.functions.noise.dropout import dropout
from compatgrad.chainer.utils import argument

_ACTIVATIONS = {"tanh": tanh, "relu": relu}


def check_arguments(ws, xs, kwargs):
    """Refuses keywords of old versions, and inputs of another size than the first weights take."""
    if kwargs:
        advice = "argument is not supported anymore. Use chainer.using_config"
        argument.check_unexpected_kwargs(kwargs, train=f"train {advice}", use_cudnn=f"use_cudnn {advice}")
        argument.assert_kwargs_empty(kwargs)
    x_in, w_in = xs[0].shape[1], ws[0][0].shape[1]
    if x_in != w_in:
        raise ValueError(f"Inconsistent input size in input values and weight parameters: {x_in} != {w_in}")


def _one_direction(cell, xs, h, c, w, b):
    # The inputs' part of all steps is one product; only the state's part waits for the step before.
    w_x, b_x, step = cell(w, b)
    lengths = list(itertools.accumulate(len(x) for x in xs))
    inputs = split_axis(linear(concat(xs, axis=0), w_x, b_x), lengths[:-1], axis=0)
    hs = []
    for x in inputs:
        batch = len(x)
        ended = len(h) > batch  # sequences come sorted by length: the last rows have ended
        if ended:
            h, h_rest = split_axis(h, [batch], axis=0)
            if c is not None:
                c, c_rest = split_axis(c, [batch], axis=0)
        h, c = step(x, h, c)
        hs.append(h)
        if ended:
            h = concat([h, h_rest], axis=0)
            if c is not None:
                c = concat([c, c_rest], axis=0)
    return h, c, hs


def n_step_rnn_impl(cell, n_layers, dropout_ratio, hx, cx, ws, bs, xs, use_bi_direction):
    """Runs layers of `cell`. Returns (hy, cy or None, tuple of outputs).

    `cell`, a function of one layer's weights and biases, gives the stacked weights and biases of the inputs
    and `step(projected_x, h, c) -> (h, c)`.
    """
    hx = separate(hx)
    cx = [None] * len(hx) if cx is None else separate(cx)
    hy, cy, ys = [], [], xs
    for layer in range(n_layers):
        outputs = []
        for direction in range(2 if use_bi_direction else 1):
            xs = ys if layer == 0 else [dropout(y, ratio=dropout_ratio) for y in ys]
            k = len(hy)
            steps = list(reversed(xs)) if direction else xs
            h, c, hs = _one_direction(cell, steps, hx[k], cx[k], ws[k], bs[k])
            hy.append(h)
            cy.append(c)
            outputs.append(hs[::-1] if direction else hs)
        ys = [concat(pair, axis=1) for pair in zip(*outputs, strict=True)] if use_bi_direction else outputs[0]
    return stack(hy), None if cy[0] is None else stack(cy), tuple(ys)


def _plain_cell(activation):
    def cell(w, b):
        def step(x, h, c):
            return activation(x + linear(h, w[1], b[1])), None

        return w[0], b[0], step

    return cell


def n_step_rnn_base(n_layers, dropout_ratio, hx, ws, bs, xs, activation, use_bi_direction, **kwargs):
    """What `n_step_rnn` and `n_step_birnn` share."""
    if activation not in _ACTIVATIONS:
        raise ValueError(f'Invalid activation: "{activation}". Please select from [{",".join(_ACTIVATIONS)}]')
    check_arguments(ws, xs, kwargs)
    cell = _plain_cell(_ACTIVATIONS[activation])
    hy, _, ys = n_step_rnn_impl(cell, n_layers, dropout_ratio, hx, None, ws, bs, xs, use_bi_direction)
    return hy, ys


def n_step_rnn(n_layers, dropout_ratio, hx, ws, bs, xs, activation="tanh", **kwargs):
    """Stacked recurrent network over a list of time steps `xs`, each (batch, in), batches not growing.

    `hx` (layers, batch, units); `ws[layer]`, `bs[layer]`: the two weights and biases, of the input and of
    the state. `activation` is "tanh" or "relu". Returns (hy, ys). Raises ValueError for other activations or
    input sizes.
    """
    return n_step_rnn_base(
        n_layers, dropout_ratio, hx, ws, bs, xs, activation, use_bi_direction=False, **kwargs
    )


def n_step_birnn(n_layers, dropout_ratio, hx, ws, bs, xs, activation="tanh", **kwargs):
    """As `n_step_rnn` in both directions: `hx` (2 * layers, …), the outputs of both concatenated."""
    return n_step_rnn_base(
        n_layers, dropout_ratio, hx, ws, bs, xs, activation, use_bi_direction=True, **kwargs
    )
