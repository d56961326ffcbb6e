"""Computes the weights of a layer into which a neighbouring batch normalization is folded."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["LAYERS", "after", "before", "bias_shape", "scale_and_offset"]

LAYERS = ("Affine", "Convolution", "Deconvolution")


def scale_and_offset(norm: Any) -> tuple[np.ndarray, np.ndarray]:
    """The scale and the offset of the batch normalization `norm`, which computes scale * x + offset; both have the
    shape of its parameters."""
    beta, gamma, mean, variance = (v.d for v in norm.inputs[1:5])
    scale = gamma / np.sqrt(variance + norm.info.args["eps"])
    return scale, beta - scale * mean


def bias_shape(layer: Any) -> tuple[int, ...]:
    """The shape of the bias for a layer that has none."""
    w, args = layer.inputs[1], layer.info.args
    if layer.info.type_name == "Affine":
        return w.shape[1:]
    if layer.info.type_name == "Convolution":
        return w.shape[:1]
    return ((w.shape[-1] if args.get("channel_last") else w.shape[1]) * args["group"],)


def _axes(layer: Any, w: np.ndarray, channel_last: bool) -> tuple[np.ndarray, tuple[int, ...]]:
    """The weights of a convolution, reshaped to (groups, out, in, *rest), and the arguments with which `_restored`
    reverses that."""
    group = layer.info.args["group"]
    if channel_last:
        w = np.moveaxis(w, -1, 1)
    shape = w.shape
    w = w.reshape(group, shape[0] // group, *shape[1:])
    return (np.swapaxes(w, 1, 2) if layer.info.type_name == "Deconvolution" else w), shape


def _restored(layer: Any, w: np.ndarray, shape: tuple[int, ...], channel_last: bool) -> np.ndarray:
    if layer.info.type_name == "Deconvolution":
        w = np.swapaxes(w, 1, 2)
    w = np.ascontiguousarray(w.reshape(shape))
    return np.moveaxis(w, 1, -1) if channel_last else w


def _bias(layer: Any) -> Any:
    return layer.inputs[2].d if len(layer.inputs) == 3 else np.zeros(bias_shape(layer), np.float32)


def after(layer: Any, norm: Any, channel_last: bool) -> tuple[np.ndarray, np.ndarray]:
    """Weights and bias of `layer` after folding in the batch normalization of its output."""
    scale, offset = scale_and_offset(norm)
    w, b = layer.inputs[1].d, _bias(layer)
    if layer.info.type_name == "Affine":
        base = layer.info.args["base_axis"]
        scale, offset = (c.reshape(c.shape[base:]) for c in (scale, offset))
        return w * scale, b * scale + offset
    split, shape = _axes(layer, w, channel_last)
    scale, offset = scale.reshape(-1), offset.reshape(-1)
    split = split * scale.reshape(*split.shape[:2], *[1] * (split.ndim - 2))
    return _restored(layer, split, shape, channel_last), b * scale + offset


def before(norm: Any, layer: Any, channel_last: bool) -> tuple[np.ndarray, np.ndarray]:
    """Weights and bias of `layer` after folding in the batch normalization of its input. Where a convolution has
    padding, or a deconvolution has a kernel of more than one element, the offset is wrong at the borders, where the
    layer reads fewer elements.
    """
    scale, offset = scale_and_offset(norm)
    w, b = layer.inputs[1].d, _bias(layer)
    if layer.info.type_name == "Affine":
        features = norm.inputs[0].shape[layer.info.args["base_axis"] :]
        axes = (-1, *[1] * (w.ndim - 1))
        base = layer.info.args["base_axis"]
        scale, offset = (np.broadcast_to(c.reshape(c.shape[base:]), features).reshape(axes) for c in (scale, offset))
        return w * scale, b + (w * offset).sum(0)
    split, shape = _axes(layer, w, channel_last)
    axes = (split.shape[0], 1, split.shape[2], *[1] * (split.ndim - 3))
    added = (split * offset.reshape(axes)).sum(tuple(range(2, split.ndim))).reshape(-1)
    return _restored(layer, split * scale.reshape(axes), shape, channel_last), b + added
