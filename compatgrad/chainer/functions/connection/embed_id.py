"""Rows of a table by integer."""

from compatgrad import _C
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

_get_mode = _C.get_mode


class EmbedIDFunction(_native.NativeFunction):
    op = "embedding"

    def __init__(self, ignore_label=None):
        super().__init__(ignore_index=ignore_label)

    ignore_label = property(lambda self: self.op_params["ignore_index"])

    def check_type_forward(self, in_types):
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
    op = "embedding_grad"

    ignore_label = property(lambda self: self.op_params["ignore_index"])


def _checked(W, x, ignore_label):
    return EmbedIDFunction(ignore_label).apply((x, W))[0]


_embedding = frontend.bind("embedding", _checked)


def embed_id(x, W, ignore_label=None):
    """Rows of W (rows, width) by the integers x of any shape: (*x.shape, width); zeros where x is
    `ignore_label`.

    Raises InvalidType where x is not of integers or W has another number of axes, IndexError for an integer
    that is out of range (ValueError under debug).
    """
    if x.dtype.kind != "i" or x.ndim < 1 or _get_mode("debug"):
        return _checked(W, x, ignore_label)
    return _embedding(W, x, ignore_label)
