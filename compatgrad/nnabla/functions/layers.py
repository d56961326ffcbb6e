"""The fully connected layer, tables, and attention."""

from __future__ import annotations

from compatgrad.nnabla._declare import function, op

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
    from compatgrad.nnabla import functions as F

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
    q = F.affine(query, q_weight, q_bias, base_axis=2) * float(width // num_heads) ** -0.5
    k = F.affine(key, k_weight, k_bias, base_axis=2)
    v = F.affine(value, v_weight, v_bias, base_axis=2)
    if attn_bias_k is not None:
        sources += 1
        k = F.concatenate(k, F.broadcast(F.reshape(attn_bias_k, (1, 1, width)), (1, batch, width)), axis=0)
        v = F.concatenate(v, F.broadcast(F.reshape(attn_bias_v, (1, 1, value_width)), (1, batch, value_width)), axis=0)
        additive_mask = None if additive_mask is None else F.pad(additive_mask, (0, 1))
        key_padding_mask = None if key_padding_mask is None else F.pad(key_padding_mask, (0, 1))

    def heads(h, length, head_width):
        return F.transpose(F.reshape(h, (length, batch * num_heads, head_width)), (1, 0, 2))

    q, k = heads(q, targets, width // num_heads), heads(k, sources, width // num_heads)
    v = heads(v, sources, value_width // num_heads)
    scores = F.batch_matmul(q, k, transpose_b=True)
    if additive_mask is not None:
        scores = scores + F.reshape(additive_mask, (1, *additive_mask.shape))
    if key_padding_mask is not None:
        by_head = (batch, num_heads, targets, sources)
        hidden = F.broadcast(F.reshape(key_padding_mask, (batch, 1, 1, sources)), by_head)
        scores = F.where(hidden, F.constant(float("-inf"), by_head), F.reshape(scores, by_head))
        scores = F.reshape(scores, (batch * num_heads, targets, sources))
    weights = F.softmax(scores, axis=2)
    if dropout > 0:
        weights = F.dropout(weights, p=dropout)
    y = F.transpose(F.batch_matmul(weights, v), (1, 0, 2))
    y = F.affine(F.reshape(y, (targets, batch, value_width)), out_weight, out_bias, base_axis=2)
    return y, weights
