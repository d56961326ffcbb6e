from __future__ import annotations

from typing import TYPE_CHECKING

import compatgrad.chainer.functions as F
from compatgrad.chainer import initializers, link, variable
from compatgrad.chainer.links.rnn.n_step_rnn import argsort_list_descent, permutate_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import Array, Initializer, VariableOrArray
    from compatgrad.chainer.variable import Variable


class CRF1d(link.Link):
    """Linear-chain conditional random field with transition costs of shape (n_label, n_label).

    The parameter `cost` holds the costs of passing from one label to another. Called as `link(xs, ys)`: `xs` are
    floating-point scores of shape (batch, n_label), one array for each time step, `ys` int32 labels of shape (batch,);
    sequences are sorted by descending length, so that later steps may have fewer rows. The result is the negative
    log-likelihood.

    Args:
        n_label: number of labels.
        initial_cost: initializer of `cost`; None is 0.

    Example:
        >>> link = L.CRF1d(2)
        >>> scores = [np.array([[0, 1]], np.float32), np.array([[2, 0]], np.float32)]
        >>> score, path = link.argmax(scores)
        >>> [labels.tolist() for labels in path]
        [[1], [0]]
        >>> float(link(scores, [np.array([1], np.int32), np.array([0], np.int32)]).array) > 0
        True

    Source: `chainer.links.CRF1d` of Chainer 7.8.1; Lafferty et al., 2001.
    """

    def __init__(self, n_label: int, initial_cost: Initializer = None) -> None:
        super().__init__()
        if initial_cost is None:
            initial_cost = initializers.Zero()
        with self.init_scope():
            self.cost = variable.Parameter(initializer=initial_cost, shape=(n_label, n_label))

    def forward(
        self,
        xs: Sequence[VariableOrArray],
        ys: Sequence[VariableOrArray],
        reduce: str = "mean",
        transpose: bool = False,
    ) -> Variable:
        """The loss of scores `xs` and labels `ys`, one array per time step; per sequence with `transpose`."""
        if transpose:
            indices = argsort_list_descent(xs)
            xs = F.transpose_sequence(permutate_list(xs, indices, inv=False))
            ys = F.transpose_sequence(permutate_list(ys, indices, inv=False))
        return F.crf1d(self.cost, xs, ys, reduce)

    def argmax(self, xs: Sequence[VariableOrArray], transpose: bool = False) -> tuple[Variable, list[Array]]:
        """Score and labels of the best path."""
        if not transpose:
            return F.argmax_crf1d(self.cost, xs)
        indices = argsort_list_descent(xs)
        xs = F.transpose_sequence(permutate_list(xs, indices, inv=False))
        score, path = F.argmax_crf1d(self.cost, xs)
        path = [p.array for p in F.transpose_sequence(path)]
        return score, permutate_list(path, indices, inv=True)
