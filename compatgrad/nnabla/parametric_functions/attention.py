"""Attention and transformers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from .. import functions as F
from ..initializer import ConstantInitializer
from ._api import layer
from ._common import glorot, weight
from .affine import affine
from .normalization import layer_normalization

if TYPE_CHECKING:
    import numpy as np

    from compatgrad.nnabla._typing import Array, Initializer

__all__ = ["multi_head_attention", "transformer", "transformer_decode", "transformer_encode"]

# The shared sections of the docstrings of all these functions, and of transformers.
_SHARED = """
Args:
    dropout: the dropout probability.
    additive_mask: summand of the scores, (targets, sources).
    key_padding_mask: (batch, sources), 1 for sources to ignore.
    param_init: a dict of initializers or arrays by the names in the note; None: UniformInitializer with Glorot's limits
        for weights, zeros for biases.
"""
_LAYERS = """
Args:
    embed_dim: the width of the sequences.
    num_heads: the number of heads, which must divide `embed_dim`.
    dim_feedforward: the width between the two dense layers.
    activation: the function between the two dense layers; None: `functions.relu`.
    src_additive_mask: summand of the scores of sources, (sources, sources).
    tgt_additive_mask: summand of the scores of targets, (targets, targets).
    memory_additive_mask: summand of the scores of targets with sources, (targets, sources).
    src_key_padding_mask: (batch, sources), 1 for sources to ignore.
    tgt_key_padding_mask: (batch, targets), 1 for targets to ignore.
    memory_key_padding_mask: (batch, sources), 1 for elements of `memory` to ignore.
    add_attn_bias: whether attention has an additional source, whose key and value are learned.

Raises:
    ValueError: `num_heads` does not divide `embed_dim`, or a parameter exists with another shape.
"""

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


@layer("multi_head_attention", _ATTENTION, _SHARED)
def multi_head_attention(
    query: Array,
    key: Array,
    value: Array,
    num_heads: int = 12,
    dropout: float = 0.0,
    k_embed_dim: int | None = None,
    v_embed_dim: int | None = None,
    out_dim: int | None = None,
    rng: np.random.RandomState | None = None,
    with_bias: bool = True,
    add_attn_bias: bool = False,
    additive_mask: Array | None = None,
    key_padding_mask: Array | None = None,
    fix_parameters: bool = False,
    param_init: Mapping[str, Initializer] | None = None,
) -> tuple[Array, Array]:
    """Attention with several heads, whose weights are learned (Vaswani et al., 2017).

    Args:
        query: (targets, batch, E_q), computed in float32.
        key: (sources, batch, E_k).
        value: (sources, batch, E_v).
        num_heads: the number of heads, which must divide `k_embed_dim` and `v_embed_dim`.
        k_embed_dim: E, the width to which query and key are mapped; None: E_q.
        v_embed_dim: E_v', the width to which values are mapped; None: E_v.
        out_dim: the width of the result; None: E_v'.
        with_bias: whether there are biases.
        add_attn_bias: whether there is an additional source, whose key and value are learned.

    Returns:
        Array (targets, batch, out_dim), and the attention weights (batch * num_heads, targets, sources).

    Raises:
        ValueError: the sources of key and value differ, `num_heads` does not divide the widths, or a parameter exists
            with another shape.

    Example:
        >>> x = nn.Variable((5, 2, 8))
        >>> y, weights = PF.multi_head_attention(x, x, x, num_heads=4)
        >>> y.shape, weights.shape
        ((5, 2, 8), (8, 5, 5))
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
    """Base of the layers of a transformer: the result of each block is added to its input, and the sum is
    normalized."""

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


@layer(
    "transformer_encode",
    _described("src_self_attn", "enc_affine1", "enc_affine2", "enc_layer_norm1", "enc_layer_norm2"),
    _SHARED,
    _LAYERS,
)
def transformer_encode(
    src: Array,
    embed_dim: int,
    num_heads: int,
    dim_feedforward: int = 2048,
    dropout: float = 0.1,
    activation: Callable[[Array], Array] | None = None,
    src_additive_mask: Array | None = None,
    src_key_padding_mask: Array | None = None,
    rng: np.random.RandomState | None = None,
    add_attn_bias: bool = False,
    fix_parameters: bool = False,
) -> Array:
    """One encoder layer of a transformer: self-attention, then two dense layers (Vaswani et al., 2017).

    Args:
        src: (sources, batch, embed_dim), computed in float32.

    Returns:
        Array of the shape of `src`.

    Example:
        >>> PF.transformer_encode(nn.Variable((5, 2, 8)), embed_dim=8, num_heads=2, dim_feedforward=16).shape
        (5, 2, 8)
    """
    layer = _Layer(embed_dim, num_heads, dim_feedforward, dropout, activation, rng, add_attn_bias, fix_parameters)
    src = layer.attend(src, src, src_additive_mask, src_key_padding_mask, "src_self_attn", "enc_layer_norm1")
    return layer.feed(src, "enc_affine1", "enc_affine2", "enc_layer_norm2")


@layer(
    "transformer_decode",
    _described("tgt_self_attn", "tgt_memory_attn", "dec_affine1", "dec_affine2")
    + _described("dec_layer_norm1", "dec_layer_norm2", "dec_layer_norm3"),
    _SHARED,
    _LAYERS,
)
def transformer_decode(
    tgt: Array,
    memory: Array,
    embed_dim: int,
    num_heads: int,
    dim_feedforward: int = 2048,
    dropout: float = 0.1,
    activation: Callable[[Array], Array] | None = None,
    tgt_additive_mask: Array | None = None,
    memory_additive_mask: Array | None = None,
    tgt_key_padding_mask: Array | None = None,
    memory_key_padding_mask: Array | None = None,
    rng: np.random.RandomState | None = None,
    add_attn_bias: bool = False,
    fix_parameters: bool = False,
) -> Array:
    """One decoder layer of a transformer: self-attention, attention to the encoder's result, then two dense layers.

    Args:
        tgt: (targets, batch, embed_dim), computed in float32.
        memory: the result of the encoder, (sources, batch, embed_dim).

    Returns:
        Array of the shape of `tgt`.

    Example:
        >>> tgt, memory = nn.Variable((3, 2, 8)), nn.Variable((5, 2, 8))
        >>> PF.transformer_decode(tgt, memory, embed_dim=8, num_heads=2, dim_feedforward=16).shape
        (3, 2, 8)
    """
    layer = _Layer(embed_dim, num_heads, dim_feedforward, dropout, activation, rng, add_attn_bias, fix_parameters)
    tgt = layer.attend(tgt, tgt, tgt_additive_mask, tgt_key_padding_mask, "tgt_self_attn", "dec_layer_norm1")
    tgt = layer.attend(tgt, memory, memory_additive_mask, memory_key_padding_mask, "tgt_memory_attn", "dec_layer_norm2")
    return layer.feed(tgt, "dec_affine1", "dec_affine2", "dec_layer_norm3")


@layer(
    "transformer",
    [("encoder00, ...", "encoder layers", "as in transformer_encode", True)]
    + [("decoder00, ...", "decoder layers", "as in transformer_decode", True)],
    _SHARED,
    _LAYERS,
)
def transformer(
    src: Array,
    tgt: Array,
    embed_dim: int = 512,
    num_heads: int = 8,
    num_encoder_layers: int = 6,
    num_decoder_layers: int = 6,
    dim_feedforward: int = 2048,
    dropout: float = 0.1,
    activation: Callable[[Array], Array] | None = None,
    src_additive_mask: Array | None = None,
    tgt_additive_mask: Array | None = None,
    memory_additive_mask: Array | None = None,
    src_key_padding_mask: Array | None = None,
    tgt_key_padding_mask: Array | None = None,
    memory_key_padding_mask: Array | None = None,
    rng: np.random.RandomState | None = None,
    add_attn_bias: bool = False,
    fix_parameters: bool = False,
) -> Array:
    """A transformer of encoder and decoder layers (Vaswani et al., 2017).

    Args:
        src: (sources, batch, embed_dim), computed in float32.
        tgt: (targets, batch, embed_dim).
        num_encoder_layers: the number of encoder layers.
        num_decoder_layers: the number of decoder layers.

    Returns:
        Array of the shape of `tgt`.

    Raises:
        ValueError: the batches differ in size, or the last axis is not `embed_dim` long.

    Example:
        >>> src, tgt = nn.Variable((5, 2, 8)), nn.Variable((3, 2, 8))
        >>> PF.transformer(src, tgt, embed_dim=8, num_heads=2, dim_feedforward=16, num_encoder_layers=1).shape
        (3, 2, 8)
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
