"""The parameters in nnabla's files under torch's names."""

from __future__ import annotations

import math
from collections.abc import Mapping

from compatgrad.core.torch_weights import Weights, grouped

__all__ = ["weights"]

_LAYERS = ("affine", "conv", "deconv", "depthwise_conv", "depthwise_deconv", "embed")
_NORM = {"gamma": "weight", "beta": "bias", "mean": "running_mean", "var": "running_var"}


def weights(shapes: Mapping[str, tuple[int, ...]]) -> Weights:
    """Places of the parameters in a file, from their names and shapes. The parametric functions name the last scope
    after the kind of the layer; where nothing else is in the scope around it, torch's name leaves the kind out."""
    found, groups = Weights(), grouped(shapes, "/")
    for owner, leaves in groups.items():
        scope, _, kind = owner.rpartition("/")
        alone = scope and all(o == owner or not (o == scope or o.startswith(f"{scope}/")) for o in groups)
        path = (scope if alone else owner).replace("/", ".")
        for leaf, name in leaves.items():
            _one(found, kind, leaf, name, path, shapes[name])
    return found


def _one(found: Weights, kind: str, leaf: str, name: str, path: str, shape: tuple[int, ...]) -> None:
    dot = f"{path}." if path else ""
    if kind in _LAYERS and leaf in ("W", "b"):
        if leaf == "b":
            return found.put(name, f"{dot}bias")
        if kind == "affine":
            if len(shape) != 2:
                return found.keep(name, "nn.Linear has no outputs of several axes")
            return found.put(name, f"{dot}weight", "t")
        if kind.startswith("depthwise"):
            new = ",".join(map(str, (shape[0], 1, *shape[1:])))
            return found.put(name, f"{dot}weight", f"view:{','.join(map(str, shape))}/{new}")
        return found.put(name, f"{dot}weight")
    if leaf in _NORM and kind in ("bn", "layer_normalization", "group_normalization", "instance_normalization"):
        count = math.prod(shape)
        if max(shape, default=1) != count:
            return found.keep(name, "statistics of several axes")
        old = ",".join(map(str, shape))
        return found.put(name, f"{dot}{_NORM[leaf]}", "same" if shape == (count,) else f"view:{old}/{count}")
    if kind == "prelu" and leaf == "slope" and len(shape) <= 1:
        return found.put(name, f"{dot}weight", "same" if shape else "view:/1")
    return found.keep(name, "its name says no layer of torch")
