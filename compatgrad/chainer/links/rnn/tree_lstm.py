from __future__ import annotations

from typing import TYPE_CHECKING

import compatgrad.chainer.functions as F
from compatgrad.chainer import link
from compatgrad.chainer.links.connection.linear import Linear

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class _TreeLSTM(link.Chain):
    def _input(self, states, x):
        # The input of a node without one is zeros, with as many rows as the states have.
        if x is not None:
            return x
        known = next((state for state in states if state is not None), None)
        if known is None:
            raise ValueError("All inputs (cs, hs, x) are None.")
        return self.xp.zeros((known.shape[0], self.in_size), dtype=known.dtype)

    def _pad_zero_nodes(self, states, x):
        if all(state is not None for state in states):
            return states
        zero = self.xp.zeros((x.shape[0], self.state_size), dtype=x.dtype)
        return tuple([zero if state is None else state for state in states])


class ChildSumTreeLSTM(_TreeLSTM):
    """Tree LSTM whose nodes may have any number of children; the gates are computed from the sum over the children: `c,
    h = link(c1, ..., cn, h1, ..., hn, x)`, with x of shape (batch, in_size) and cells and outputs of shape (batch,
    out_size), floating-point. Missing states and a missing input are None; at least one must be given (ValueError).

    Args:
        in_size: length of the input vectors.
        out_size: length of the output vectors.

    Example:
        >>> link = L.ChildSumTreeLSTM(3, 2)
        >>> x = np.ones((1, 3), np.float32)
        >>> c, h = link(x)  # a leaf
        >>> c, h = link(c, c, h, h, x)  # a node with two children
        >>> c.shape, h.shape
        ((1, 2), (1, 2))

    Source: `chainer.links.ChildSumTreeLSTM` of Chainer 7.8.1; Tai et al., 2015.
    """

    def __init__(self, in_size: int, out_size: int) -> None:
        super().__init__()
        with self.init_scope():
            self.W_x = Linear(in_size, 4 * out_size)
            self.W_h_aio = Linear(out_size, 3 * out_size, nobias=True)
            self.W_h_f = Linear(out_size, out_size, nobias=True)
        self.in_size = in_size
        self.state_size = out_size

    def forward(self, *cshsx: VariableOrArray | None) -> tuple[Variable, Variable]:
        """Cell and output. Missing states and a missing input are None; raises ValueError if all are."""
        n = len(cshsx) // 2
        cs, hs, x = cshsx[:n], cshsx[n:-1], cshsx[-1]
        assert len(cshsx) % 2 == 1, (
            f"cells, outputs and x were expected, as many cells as outputs; there are {len(cshsx)} arguments"
        )
        x = self._input((*cs, *hs), x)
        x_aio, x_f = F.split_axis(self.W_x(x), [3 * self.state_size], axis=1)
        if n == 0:
            a, i, o = F.split_axis(x_aio, 3, axis=1)
            c = F.sigmoid(i) * F.tanh(a)
            return c, F.sigmoid(o) * F.tanh(c)
        hs = self._pad_zero_nodes(hs, x)
        cs = self._pad_zero_nodes(cs, x)
        aio = self.W_h_aio(sum(hs)) + x_aio
        h_f = F.concat(F.split_axis(self.W_h_f(F.concat(hs, axis=0)), n, axis=0), axis=1)
        f = h_f + F.concat([x_f] * n, axis=1)
        return F.tree_lstm(*cs, F.concat([aio, f], axis=1))


class NaryTreeLSTM(_TreeLSTM):
    """Tree LSTM with separate weights for each of `n_ary` children: `c, h = link(c1, ..., cn, h1, ..., hn, x)`, with
    x of shape (batch, in_size) and cells and outputs of shape (batch, out_size), floating-point. Missing states and
    a missing input are None; at least one must be given (ValueError).

    Args:
        in_size: length of the input vectors.
        out_size: length of the output vectors.
        n_ary: number of children of each node.

    Raises:
        AssertionError: `n_ary` is below 1.

    Example:
        >>> link = L.NaryTreeLSTM(3, 2)
        >>> x = np.ones((1, 3), np.float32)
        >>> c, h = link(None, None, None, None, x)  # a leaf
        >>> c, h = link(c, None, h, None, x)  # a node with one child
        >>> c.shape, h.shape
        ((1, 2), (1, 2))

    Source: `chainer.links.NaryTreeLSTM` of Chainer 7.8.1; Tai et al., 2015.
    """

    def __init__(self, in_size: int, out_size: int, n_ary: int = 2) -> None:
        assert n_ary >= 1, f"n_ary must be at least 1, not {n_ary}"
        super().__init__()
        with self.init_scope():
            self.W_x = Linear(in_size, (3 + n_ary) * out_size)
            for i in range(1, n_ary + 1):
                setattr(self, f"W_h{i}", Linear(out_size, (3 + n_ary) * out_size, nobias=True))
        self.in_size = in_size
        self.state_size = out_size
        self.n_ary = n_ary

    def forward(self, *cshsx: VariableOrArray | None) -> tuple[Variable, Variable]:
        """Cell and output. Missing states and a missing input are None; raises ValueError if all are."""
        assert len(cshsx) == self.n_ary * 2 + 1, (
            f"{self.n_ary} cells, {self.n_ary} outputs and x were expected; there are {len(cshsx)} arguments"
        )
        cs, hs, x = cshsx[: self.n_ary], cshsx[self.n_ary : -1], cshsx[-1]
        x = self._input((*cs, *hs), x)
        lstm_in = self.W_x(x)
        for i, h in enumerate(hs, start=1):
            if h is not None:
                lstm_in += getattr(self, f"W_h{i}")(h)
        return F.tree_lstm(*self._pad_zero_nodes(cs, x), lstm_in)
