"""Embedding: rows of a table, selected by integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad import _C
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable

_get_mode = _C.get_mode


class EmbedIDFunction(_native.NativeFunction):
    documented = "embed_id"
    op = "embedding"

    def __init__(self, ignore_label: int | None = None) -> None:
        super().__init__(ignore_index=ignore_label)

    ignore_label = _native.parameter("ignore_index")

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check.expect(in_types.size() == 2)
        x, w = in_types
        type_check.expect(x.dtype.kind == "i", x.ndim >= 1)
        type_check.expect(w.dtype.kind == "f", w.ndim == 2)

    def _run_bound(self, inputs):
        x, w = inputs
        if _get_mode("debug"):
            ids = x.array if isinstance(x, _C.Variable) else x
            valid = (0 <= ids) & (ids < len(w))
            if self.ignore_label is not None:
                valid |= ids == self.ignore_label
            if not valid.all():
                raise ValueError(
                    "Each not ignored `x` value need to satisfy `0 <= x < len(W)`. "
                    f"Actual: {ids.min()} to {ids.max()}, {len(w)} rows"
                )
        return self._bound._apply_as(self, w, x, **self.op_params)


class EmbedIDGrad(_native.NativeFunction):
    """The gradient of `embed_id` with respect to the table; it is a node where a gradient is differentiated again.

    Args:
        **params: the op's parameters: `rows`, `ignore_index`.

    Example:
        >>> W = chainer.Variable(np.ones((3, 1)))
        >>> gW, = chainer.grad([F.embed_id(np.array([0, 2]), W) ** 2], [W], enable_double_backprop=True)
        >>> gW.creator.label, gW.array.T
        ('EmbedIDGrad', array([[2., 0., 2.]]))

    Source: `chainer.functions.connection.embed_id.EmbedIDGrad` of Chainer 7.8.1.
    """

    op = "embedding_grad"

    ignore_label = _native.parameter("ignore_index")


def _checked(W, x, ignore_label):
    return EmbedIDFunction(ignore_label).apply((x, W))[0]


_embedding = frontend.bind("embedding", _checked)


def embed_id(x: VariableOrArray, W: VariableOrArray, ignore_label: int | None = None) -> Variable:
    """Embedding: rows of a table, selected by integers.

    Args:
        x: integers, any shape but (); negative ones count from the last row.
        W: floating, (rows, width).
        ignore_label: the integer whose row is zeros; None for none.

    Returns:
        Variable of the dtype of `W`: the shape of `x`, then width.

    Raises:
        chainer.utils.type_check.InvalidType: `x` is not of integers, or `W` not floating or not of two axes.
        IndexError: an integer is out of range; ValueError in debug mode.

    Example:
        >>> F.embed_id(np.array([1, -1]), np.array([[1.0, 2.0], [3.0, 4.0]]), ignore_label=-1).array
        array([[3., 4.],
               [0., 0.]])

    Source: `chainer.functions.embed_id` of Chainer 7.8.1.
    """
    if x.dtype.kind != "i" or x.ndim < 1 or _get_mode("debug"):
        return _checked(W, x, ignore_label)
    return _embedding(W, x, ignore_label)
