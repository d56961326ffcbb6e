"""Conditional random field over sequences."""

from compatgrad.chainer.functions import _composed
from compatgrad.chainer.functions.array.concat import concat
from compatgrad.chainer.functions.array.expand_dims import expand_dims
from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.array.select_item import select_item
from compatgrad.chainer.functions.connection.embed_id import embed_id
from compatgrad.chainer.functions.math.logsumexp import logsumexp
from compatgrad.chainer.functions.math.minmax import max as _max
from compatgrad.chainer.functions.math.sum import sum as _sum
from compatgrad.chainer.variable import as_array, as_variable


class _Ended:
    """Values of sequences that have ended, which later steps leave out: the shortest sequences are the last
    rows.
    """

    def __init__(self):
        self._parts = []

    def cut(self, value, batch):
        """The rows of `value` that go on."""
        if len(value) == batch:
            return value
        self._parts.append(value[batch:])
        return value[:batch]

    def joined(self, value):
        """`value`, with the rows that ended before."""
        return concat([value, *self._parts[::-1]], axis=0) if self._parts else value


def crf1d(cost, xs, ys, reduce="mean"):
    """Negative log-likelihood of label sequences under a linear-chain conditional random field.

    `cost` (K, K) scores transitions. `xs` and `ys` hold, per step, scores (B, K) and labels (B,) of the
    sequences that last so long, longest first. `reduce`: "mean", or "no" for one loss per sequence;
    ValueError for another.
    """
    _composed.check_reduce(reduce, "mean", "no")
    assert xs[0].shape[1] == cost.shape[0], (
        f"xs must have a score for each of {cost.shape[0]} labels, not {xs[0].shape[1]}"
    )
    labels, batch = cost.shape[0], len(xs[0])
    transitions = reshape(cost, (cost.size, 1))
    alpha, score = as_variable(xs[0]), select_item(xs[0], ys[0])
    alphas, scores = _Ended(), _Ended()
    for x, y, previous in zip(xs[1:], ys[1:], ys[:-1], strict=True):
        n = len(x)
        alpha = logsumexp(expand_dims(alphas.cut(alpha, n), 2) + cost, axis=1) + x
        step = as_array(previous)[:n] * labels + as_array(y)
        score = scores.cut(score, n) + select_item(x, y) + reshape(embed_id(step, transitions), (n,))
    loss = logsumexp(alphas.joined(alpha), axis=1) - scores.joined(score)
    return _sum(loss) / batch if reduce == "mean" else loss


def argmax_crf1d(cost, xs):
    """Labels of the best path for each sequence: its score (B,), and a list with an array of labels per step.

    The arguments are those of `crf1d`.
    """
    alpha, alphas, choices = as_variable(xs[0]), _Ended(), []
    ended = []  # the best last labels of sequences that end before a step
    for x in xs[1:]:
        n = len(x)
        ended.append(alpha.array[n:].argmax(axis=1))
        scores = expand_dims(alphas.cut(alpha, n), 2) + cost
        choices.append(scores.array.argmax(axis=1))
        alpha = _max(scores, axis=1) + x
    xp = alpha.xp
    labels = alpha.array.argmax(axis=1)
    path = [labels]
    for choice, last in zip(choices[::-1], ended[::-1], strict=True):
        labels = xp.concatenate([choice[xp.arange(len(labels)), labels], last])
        path.append(labels)
    return _max(alphas.joined(alpha), axis=1), path[::-1]
