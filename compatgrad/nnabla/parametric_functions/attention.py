"""Attention and transformers."""

from __future__ import annotations

from .. import functions as F
from ..initializer import ConstantInitializer
from ._api import parametric_function_api
from ._common import glorot, weight
from .affine import affine
from .normalization import layer_normalization

__all__ = ["multi_head_attention", "transformer", "transformer_decode", "transformer_encode"]

_ATTENTION = [
    ("q_weight", "weights of the query", "(E_q, E)", True),
    ("k_weight", "weights of the key", "(E_k, E)", True),
    ("v_weight", "weights of the value", "(E_v, E_v')", True),
    ("out_weight", "weights of the output", "(E_v', out_dim)", True),
    ("q_bias", "bias of the query", "(E,)", True),
    ("k_bias", "bias of the key", "(E,)", True),
    ("v_bias", "bias of the value", "(E_v',)", True),
    ("out_bias", "bias of the output", "(out_dim,)", True),
    ("attn_bias_k", "key added to the sequence", "(1, 1, E)", True),
    ("attn_bias_v", "value added to the sequence", "(1, 1, E_v')", True),
]


@parametric_function_api("multi_head_attention", _ATTENTION)
def multi_head_attention(
    query,
    key,
    value,
    num_heads=12,
    dropout=0.0,
    k_embed_dim=None,
    v_embed_dim=None,
    out_dim=None,
    rng=None,
    with_bias=True,
    add_attn_bias=False,
    additive_mask=None,
    key_padding_mask=None,
    fix_parameters=False,
    param_init=None,
):
    """Attention of `query` (L_T, B, E_q) over `key` (L_S, B, E_k) and `value` (L_S, B, E_v).

    Returns the output (L_T, B, out_dim) and the attention weights (B, num_heads, L_T, L_S). `k_embed_dim` and
    `v_embed_dim`, multiples of `num_heads`, are the sizes E and E_v' that query and key, and value, are
    mapped to (by default those of query and value); `out_dim` is E_v' by default. `add_attn_bias` adds a
    trained key and value to the sequence. `param_init` maps parameter names to initializers or arrays; other
    arguments are those of F.multi_head_attention. Vaswani et al. 2017, https://arxiv.org/abs/1706.03762.
    """
    q_size, k_size, v_size = query.shape[2], key.shape[2], value.shape[2]
    k_embed_dim = q_size if k_embed_dim is None else k_embed_dim
    v_embed_dim = v_size if v_embed_dim is None else v_embed_dim
    out_dim = v_embed_dim if out_dim is None else out_dim
    given = param_init or {}

    def get(name, shape, default):
        return weight(name, shape, given.get(name, default), fix_parameters)

    sizes = [("q", q_size, k_embed_dim), ("k", k_size, k_embed_dim)]
    sizes += [("v", v_size, v_embed_dim), ("out", v_embed_dim, out_dim)]
    weights = [get(f"{n}_weight", (inputs, outs), glorot(rng, inputs, outs)) for n, inputs, outs in sizes]
    biases = [None] * 4
    if with_bias:
        biases = [get(f"{n}_bias", (outs,), ConstantInitializer()) for n, _, outs in sizes]
    added = [None] * 2
    if add_attn_bias:
        added = [
            get(f"attn_bias_{n}", (1, 1, size), glorot(rng, size, 1))
            for n, size in (("k", k_embed_dim), ("v", v_embed_dim))
        ]
    return F.multi_head_attention(
        query,
        key,
        value,
        num_heads,
        *weights,
        *biases,
        *added,
        dropout,
        additive_mask=additive_mask,
        key_padding_mask=key_padding_mask,
    )


class _Layer:
    """What the layers of a transformer share: every block is added to its input, and the sum normalized."""

    def __init__(self, embed_dim, num_heads, dim_feedforward, dropout, activation, rng, add_attn_bias, fix):
        self.embed_dim, self.num_heads, self.dim_feedforward = embed_dim, num_heads, dim_feedforward
        self.dropout, self.activation = dropout, activation or F.relu
        self.rng, self.add_attn_bias, self.fix = rng, add_attn_bias, fix

    def _drop(self, x):
        return F.dropout(x, self.dropout) if self.dropout > 0 else x

    def _join(self, x, y, name):
        return layer_normalization(x + self._drop(y), batch_axis=(0, 1), fix_parameters=self.fix, name=name)

    def attend(self, x, memory, additive_mask, key_padding_mask, name, norm):
        y, _ = multi_head_attention(
            x,
            memory,
            memory,
            num_heads=self.num_heads,
            rng=self.rng,
            add_attn_bias=self.add_attn_bias,
            additive_mask=additive_mask,
            key_padding_mask=key_padding_mask,
            fix_parameters=self.fix,
            name=name,
        )
        return self._join(x, y, norm)

    def feed(self, x, first, second, norm):
        options = {"base_axis": 2, "rng": self.rng, "fix_parameters": self.fix}
        y = self._drop(self.activation(affine(x, self.dim_feedforward, name=first, **options)))
        return self._join(x, affine(y, self.embed_dim, name=second, **options), norm)


def _described(*names):
    kinds = {"attn": "multi_head_attention", "affine": "affine", "norm": "layer_normalization"}
    return [(n, "a block", f"as in {next(k for part, k in kinds.items() if part in n)}", True) for n in names]


@parametric_function_api(
    "transformer_encode",
    _described("src_self_attn", "enc_affine1", "enc_affine2", "enc_layer_norm1", "enc_layer_norm2"),
)
def transformer_encode(
    src,
    embed_dim,
    num_heads,
    dim_feedforward=2048,
    dropout=0.1,
    activation=None,
    src_additive_mask=None,
    src_key_padding_mask=None,
    rng=None,
    add_attn_bias=False,
    fix_parameters=False,
):
    """One encoder layer of a transformer: self-attention, then two dense layers. `src` is (L, B, embed_dim).

    The dense layers have `dim_feedforward` outputs and `activation`, F.relu by default, between them. Other
    arguments as in `multi_head_attention`.
    """
    layer = _Layer(embed_dim, num_heads, dim_feedforward, dropout, activation, rng, add_attn_bias, fix_parameters)
    src = layer.attend(src, src, src_additive_mask, src_key_padding_mask, "src_self_attn", "enc_layer_norm1")
    return layer.feed(src, "enc_affine1", "enc_affine2", "enc_layer_norm2")


@parametric_function_api(
    "transformer_decode",
    _described("tgt_self_attn", "tgt_memory_attn", "dec_affine1", "dec_affine2")
    + _described("dec_layer_norm1", "dec_layer_norm2", "dec_layer_norm3"),
)
def transformer_decode(
    tgt,
    memory,
    embed_dim,
    num_heads,
    dim_feedforward=2048,
    dropout=0.1,
    activation=None,
    tgt_additive_mask=None,
    memory_additive_mask=None,
    tgt_key_padding_mask=None,
    memory_key_padding_mask=None,
    rng=None,
    add_attn_bias=False,
    fix_parameters=False,
):
    """One decoder layer of a transformer: as `transformer_encode`, with attention over `memory` in
    between."""
    layer = _Layer(embed_dim, num_heads, dim_feedforward, dropout, activation, rng, add_attn_bias, fix_parameters)
    tgt = layer.attend(tgt, tgt, tgt_additive_mask, tgt_key_padding_mask, "tgt_self_attn", "dec_layer_norm1")
    tgt = layer.attend(tgt, memory, memory_additive_mask, memory_key_padding_mask, "tgt_memory_attn", "dec_layer_norm2")
    return layer.feed(tgt, "dec_affine1", "dec_affine2", "dec_layer_norm3")


@parametric_function_api(
    "transformer",
    [("encoder00, ...", "encoder layers", "as in transformer_encode", True)]
    + [("decoder00, ...", "decoder layers", "as in transformer_decode", True)],
)
def transformer(
    src,
    tgt,
    embed_dim=512,
    num_heads=8,
    num_encoder_layers=6,
    num_decoder_layers=6,
    dim_feedforward=2048,
    dropout=0.1,
    activation=None,
    src_additive_mask=None,
    tgt_additive_mask=None,
    memory_additive_mask=None,
    src_key_padding_mask=None,
    tgt_key_padding_mask=None,
    memory_key_padding_mask=None,
    rng=None,
    add_attn_bias=False,
    fix_parameters=False,
):
    """Transformer from `src` (L_S, B, embed_dim) and `tgt` (L_T, B, embed_dim) to an output like `tgt`.

    Arguments as in `transformer_encode` and `transformer_decode`. Raises ValueError where the batch sizes
    differ, or a size is not `embed_dim`. Vaswani et al. 2017, https://arxiv.org/abs/1706.03762.
    """
    if src.shape[1] != tgt.shape[1]:
        raise ValueError(f"transformer: src and tgt differ in batch size: {src.shape} and {tgt.shape}")
    if src.shape[2] != embed_dim or tgt.shape[2] != embed_dim:
        raise ValueError(f"transformer: last axes of {src.shape} and {tgt.shape} must be embed_dim={embed_dim}")
    common = {
        "embed_dim": embed_dim,
        "num_heads": num_heads,
        "dim_feedforward": dim_feedforward,
        "dropout": dropout,
        "activation": activation,
        "rng": rng,
        "add_attn_bias": add_attn_bias,
        "fix_parameters": fix_parameters,
    }
    memory, output = src, tgt
    for i in range(num_encoder_layers):
        memory = transformer_encode(
            memory,
            src_additive_mask=src_additive_mask,
            src_key_padding_mask=src_key_padding_mask,
            name=f"encoder{i:02d}",
            **common,
        )
    for i in range(num_decoder_layers):
        output = transformer_decode(
            output,
            memory,
            tgt_additive_mask=tgt_additive_mask,
            memory_additive_mask=memory_additive_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            name=f"decoder{i:02d}",
            **common,
        )
    return output
