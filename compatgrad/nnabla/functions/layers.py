"""The fully connected layer, embedding, and attention."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla._direct import Direct
from compatgrad.nnabla._documents import documented
from compatgrad.nnabla.functions.activation import softmax
from compatgrad.nnabla.functions.arithmetic import batch_matmul
from compatgrad.nnabla.functions.arrays import broadcast, concatenate, pad, reshape, transpose
from compatgrad.nnabla.functions.create import constant
from compatgrad.nnabla.functions.logical import where
from compatgrad.nnabla.functions.random import dropout as drop

if TYPE_CHECKING:
    from compatgrad.nnabla._typing import Array

__all__ = ["affine", "embed", "multi_head_attention"]


@function("Affine", "x, weight, bias?", primitive=True, direct=Direct({"base_axis": 1}))
def affine(x: Array, weight: Array, bias: Array | None = None, base_axis: int = 1) -> Array:
    """The fully connected layer: x @ weight + bias.

    Args:
        x: (*samples, *features), computed in float32: the samples are the axes before `base_axis`, the features are
            flattened to one axis.
        weight: (features, *outputs).
        bias: (*outputs).
        base_axis: the first axis of the features, negative ones counted from the last.

    Returns:
        Array (*samples, *outputs).

    Raises:
        RuntimeError: the shapes do not fit.

    Example:
        >>> x, w, b = (nn.NdArray.from_numpy_array(np.array(v)) for v in ([[1.0, 2.0]], [[1.0], [3.0]], [0.5]))
        >>> F.affine(x, w, b).data
        array([[7.5]], dtype=float32)
    """
    try:
        return op.affine(x, weight, bias, base_axis=base_axis)
    except ValueError as e:
        raise RuntimeError(e) from None


@function("Embed", "x0, w", primitive=True, integers=("x0",))
def embed(x0: Array, w: Array) -> Array:
    """The rows of a table that integers select.

    Args:
        x0: integers of any shape, below the number of rows; they get no gradient.
        w: the table, (rows, *shape).

    Returns:
        Array (*x0.shape, *shape).

    Raises:
        RuntimeError: an integer is not the number of a row.

    Example:
        >>> table = nn.NdArray.from_numpy_array(np.arange(6.0).reshape(3, 2))
        >>> F.embed(nn.NdArray.from_numpy_array(np.array([2, 0])), table).data
        array([[4., 5.],
               [0., 1.]], dtype=float32)
    """
    return op.embed(x0, w)


@documented()
def multi_head_attention(
    query: Array,
    key: Array,
    value: Array,
    num_heads: int,
    q_weight: Array,
    k_weight: Array,
    v_weight: Array,
    out_weight: Array,
    q_bias: Array | None = None,
    k_bias: Array | None = None,
    v_bias: Array | None = None,
    out_bias: Array | None = None,
    attn_bias_k: Array | None = None,
    attn_bias_v: Array | None = None,
    dropout: float = 0.0,
    additive_mask: Array | None = None,
    key_padding_mask: Array | None = None,
) -> tuple[Array, Array]:
    """Attention with several heads (Vaswani et al., 2017).

    Args:
        query: (targets, batch, dq), computed in float32.
        key: (sources, batch, dk).
        value: (sources, batch, dv).
        num_heads: the number of heads, which must divide e and ev.
        q_weight: (dq, e).
        k_weight: (dk, e).
        v_weight: (dv, ev).
        out_weight: (ev, eo).
        q_bias, k_bias: (e,).
        v_bias: (ev,).
        out_bias: (eo,).
        attn_bias_k: the key of an additional source, (e,).
        attn_bias_v: the value of the additional source, (ev,).
        dropout: the probability with which an attention weight becomes 0.
        additive_mask: summand of the scores, (targets, sources).
        key_padding_mask: (batch, sources), 1 for sources to ignore.

    Returns:
        Array (targets, batch, eo), and the attention weights (batch * num_heads, targets, sources).

    Raises:
        RuntimeError: a weight or bias does not fit.
        ValueError: the sources of key and value differ, the widths of the weights do not fit, or `key_padding_mask` has
            another shape.

    Example:
        >>> x, w = (nn.NdArray.from_numpy_array(np.ones(shape)) for shape in ((3, 1, 4), (4, 4)))
        >>> y, weights = F.multi_head_attention(x, x, x, 2, w, w, w, w)
        >>> y.shape, weights.data[0, 0]
        ((3, 1, 4), array([0.33333334, 0.33333334, 0.33333334], dtype=float32))
    """
    targets, batch, _ = query.shape
    sources = key.shape[0]
    width, value_width = q_weight.shape[1], v_weight.shape[1]
    if sources != value.shape[0]:
        raise ValueError(f"multi_head_attention: value must have {sources} sources, as key has, not {value.shape[0]}")
    if width != k_weight.shape[1]:
        raise ValueError(
            "multi_head_attention: q_weight and k_weight must have the same number of columns, not "
            f"{width} and {k_weight.shape[1]}"
        )
    if num_heads < 1 or width % num_heads or value_width % num_heads:
        raise ValueError(
            f"multi_head_attention: the widths {width} and {value_width} must be multiples of num_heads={num_heads}"
        )
    if key_padding_mask is not None and tuple(key_padding_mask.shape) != (batch, sources):
        raise ValueError(
            f"multi_head_attention: key_padding_mask must have shape {(batch, sources)}, not "
            f"{tuple(key_padding_mask.shape)}"
        )
    q = affine(query, q_weight, q_bias, base_axis=2) * float(width // num_heads) ** -0.5
    k = affine(key, k_weight, k_bias, base_axis=2)
    v = affine(value, v_weight, v_bias, base_axis=2)
    if attn_bias_k is not None:
        sources += 1
        k = concatenate(k, broadcast(reshape(attn_bias_k, (1, 1, width)), (1, batch, width)), axis=0)
        v = concatenate(v, broadcast(reshape(attn_bias_v, (1, 1, value_width)), (1, batch, value_width)), axis=0)
        additive_mask = None if additive_mask is None else pad(additive_mask, (0, 1))
        key_padding_mask = None if key_padding_mask is None else pad(key_padding_mask, (0, 1))

    def heads(h, length, head_width):
        return transpose(reshape(h, (length, batch * num_heads, head_width)), (1, 0, 2))

    q, k = heads(q, targets, width // num_heads), heads(k, sources, width // num_heads)
    v = heads(v, sources, value_width // num_heads)
    scores = batch_matmul(q, k, transpose_b=True)
    if additive_mask is not None:
        scores = scores + reshape(additive_mask, (1, *additive_mask.shape))
    if key_padding_mask is not None:
        by_head = (batch, num_heads, targets, sources)
        hidden = broadcast(reshape(key_padding_mask, (batch, 1, 1, sources)), by_head)
        scores = where(hidden, constant(float("-inf"), by_head), reshape(scores, by_head))
        scores = reshape(scores, (batch * num_heads, targets, sources))
    weights = softmax(scores, axis=2)
    if dropout > 0:
        weights = drop(weights, p=dropout)
    y = transpose(batch_matmul(weights, v), (1, 0, 2))
    y = affine(reshape(y, (targets, batch, value_width)), out_weight, out_bias, base_axis=2)
    return y, weights
