"""nnabla's `PF.multi_head_attention` as `nn.MultiheadAttention`.

torch's layer returns the weights, too, unless it is told not to. With a mask they are returned even if the network does
not use them, because the layer then computes the softmax as nnabla does, also for rows that are masked throughout.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from compatgrad.interop.native._layers import Layer
from compatgrad.interop.native._watch import Watch, tensor_of

__all__ = ["nnabla_attention"]

_PARTS = ("q_weight", "k_weight", "v_weight", "out_weight", "q_bias", "k_bias", "v_bias", "out_bias", "attn_bias_k",
          "attn_bias_v")  # fmt: skip


def _gathered(found: dict[str, torch.Tensor]) -> list[tuple[str, torch.Tensor]] | None:
    """The numbers of the layer's parameters by their names, from those of nnabla's; None if torch has no such layer."""
    size = found["q_weight"].shape[1]
    inputs = [found[f"{n}_weight"].shape[0] for n in ("q", "k", "v")]
    outputs = [found[f"{n}_weight"].shape[1] for n in ("k", "v", "out")]
    biases = [f"{n}_bias" in found for n in ("q", "k", "v", "out")]
    if inputs[0] != size or outputs != [size] * 3 or len(set(biases)) > 1:
        return None
    weights = [found[f"{n}_weight"].t() for n in ("q", "k", "v")]
    if inputs == [size] * 3:
        made = [("in_proj_weight", torch.cat(weights))]
    else:
        made = [(f"{n}_proj_weight", w) for n, w in zip(("q", "k", "v"), weights, strict=True)]
    if biases[0]:
        made.append(("in_proj_bias", torch.cat([found[f"{n}_bias"] for n in ("q", "k", "v")])))
    made.append(("out_proj.weight", found["out_weight"].t()))
    if biases[0]:
        made.append(("out_proj.bias", found["out_bias"]))
    made += [(n.removeprefix("attn_"), found[n].reshape(1, 1, size)) for n in _PARTS[-2:] if n in found]
    numbers = torch.cat([t.flatten() for _, t in made])
    return made if len(numbers.unique()) == len(numbers) else None  # each number has its own gradient in torch


def nnabla_attention(watch: Watch, original: Callable[..., Any]) -> Callable[..., Any]:
    def call(query: Any, key: Any, value: Any, num_heads: int, *weights: Any, dropout: float = 0.0,
             additive_mask: Any = None, key_padding_mask: Any = None, **named: Any) -> Any:  # fmt: skip
        places = [*_PARTS, "dropout", "additive_mask", "key_padding_mask"]
        options = {"dropout": dropout, "additive_mask": additive_mask, "key_padding_mask": key_padding_mask}
        given = {**options, **named, **dict(zip(places, weights, strict=False))}
        ratio, added, hidden = (given[n] for n in options)

        def whole() -> Any:
            return original(query, key, value, num_heads, **given)

        found = {n: watch.names(given[n]) for n in _PARTS if given.get(n) is not None}
        if any(t is None for t in found.values()):
            return whole()
        inputs = [watch.trace.value(tensor_of(x)) for x in (query, key, value, added, hidden) if x is not None]

        def write(result: Any) -> list[Any] | None:
            made = _gathered(found)  # type: ignore[arg-type]
            if made is None:
                return None
            own = dict(made)
            size = own["out_proj.weight"].shape[0]
            arguments = [str(size), str(num_heads)]
            arguments += [f"dropout={ratio!r}"] if ratio else []
            arguments += [] if "out_proj.bias" in own else ["bias=False"]
            arguments += ["add_bias_kv=True"] if "bias_k" in own else []
            if "k_proj_weight" in own:
                arguments += [f"{n}dim={own[f'{n}_proj_weight'].shape[1]}" for n in ("k", "v")]
            text = "{m}({0}, {1}, {2}"
            text += ", attn_mask={3}" if added is not None else ""
            if hidden is not None:  # two masks have the same dtype
                k = f"{{{len(inputs) - 1}}}"
                bools = f"{k}.bool()"
                text += f", key_padding_mask={bools if added is None else _infinite(k)}"
            layer = Layer("nn.MultiheadAttention", tuple(arguments), f"{text}, average_attn_weights=False)",
                          tuple(range(len(inputs))), (), (), (), "train" if ratio else "", (),
                          tuple((n, watch.numbers.gathered(t)) for n, t in made),
                          ("{0}[0]", "{0}[1].flatten(0, 1)"))  # fmt: skip
            return [watch.new_call(layer, inputs, [tensor_of(y) for y in result])[1]]

        return watch.run(whole, write)

    return call


def _infinite(mask: str) -> str:
    return f"torch.zeros_like({mask}).masked_fill({mask}.bool(), -math.inf)"
