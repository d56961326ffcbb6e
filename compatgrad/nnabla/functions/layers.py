"""The fully connected layer, tables, and attention."""

from __future__ import annotations

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla.functions.activation import softmax
from compatgrad.nnabla.functions.arithmetic import batch_matmul
from compatgrad.nnabla.functions.arrays import broadcast, concatenate, pad, reshape, transpose
from compatgrad.nnabla.functions.create import constant
from compatgrad.nnabla.functions.logical import where
from compatgrad.nnabla.functions.random import dropout as drop

__all__ = ["affine", "embed", "multi_head_attention"]


@function("Affine", "x, weight, bias?", primitive=True)
def affine(x, weight, bias=None, base_axis=1):
    """x @ weight + bias for data of any number of axes.

    x: (*samples, *features), the samples being the axes before `base_axis`, the features flattened to one
    axis of length weight.shape[0]; weight: (features, *outputs); bias: (*outputs). Gives (*samples,
    *outputs). RuntimeError where shapes do not fit.
    """
    try:
        return op.affine(x, weight, bias, base_axis=base_axis)
    except ValueError as e:
        raise RuntimeError(e) from None


@function("Embed", "x0, w", primitive=True, integers=("x0",))
def embed(x0, w):
    """Slices of a table: w[x0].

    x0: integers of any shape; w: (rows, *shape). Gives (*x0.shape, *shape). x0 gets no gradient. IndexError
    for an index that w does not have.
    """
    return op.embed(x0, w)


def multi_head_attention(
    query,
    key,
    value,
    num_heads,
    q_weight,
    k_weight,
    v_weight,
    out_weight,
    q_bias=None,
    k_bias=None,
    v_bias=None,
    out_bias=None,
    attn_bias_k=None,
    attn_bias_v=None,
    dropout=0.0,
    additive_mask=None,
    key_padding_mask=None,
):
    """Attention with several heads.

    query: (targets, batch, dq), key: (sources, batch, dk), value: (sources, batch, dv); weights q (dq, e), k
    (dk, e), v (dv, ev), out (ev, eo), biases of the last of these lengths. attn_bias_k (e,), attn_bias_v
    (ev,): one more source. additive_mask: (targets, sources), added to the scores; key_padding_mask: (batch,
    sources), 1 where a source is no source. Gives (targets, batch, eo) and the weights (batch * heads,
    targets, sources). ValueError where lengths do not fit.
    """
    targets, batch, _ = query.shape
    sources = key.shape[0]
    width, value_width = q_weight.shape[1], v_weight.shape[1]
    if sources != value.shape[0]:
        raise ValueError(f"multi_head_attention: value must have {sources} sources as key, not {value.shape[0]}")
    if width != k_weight.shape[1]:
        raise ValueError(
            "multi_head_attention: q_weight and k_weight must have as many columns, not "
            f"{width} and {k_weight.shape[1]}"
        )
    if width % num_heads or value_width % num_heads:
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
