"""Compression of gradients to two bits for each number."""

from __future__ import annotations

from typing import Any

import torch

from ..base import MXNetError


class TwoBits:
    """Replaces each number by +threshold, -threshold or 0. What is lost is added to the next gradient of the same name,
    so that over time the sums are right.

    Args:
        threshold: the number, above 0.
    """

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self._rests: dict[Any, torch.Tensor] = {}

    @staticmethod
    def of(params: Any) -> TwoBits:
        """The compression that a program asks for by a dict; MXNetError for an unknown type or a bad threshold."""
        params = dict(params)
        kind, threshold = params.pop("type", None), float(params.pop("threshold", 0.5))
        if kind != "2bit" or params:
            raise MXNetError(f"set_gradient_compression: Unknown type for gradient compression {kind!r}, {params}")
        if not threshold > 0:
            raise MXNetError(f"set_gradient_compression: threshold must be greater than 0, got {threshold}")
        return TwoBits(threshold)

    def codes(self, key: Any, gradient: torch.Tensor) -> torch.Tensor:
        """-1, 0 or 1 for each number; `key` says which gradient it is."""
        if gradient.dtype != torch.float32:
            raise MXNetError(f"Gradient compression is only supported for float32 data type, got {gradient.dtype}")
        rest = self._rests.get(key)
        total = gradient + rest if rest is not None else gradient
        codes = (total >= self.threshold).to(torch.int8) - (total <= -self.threshold).to(torch.int8)
        self._rests[key] = total - self.threshold * codes
        return codes

    def rounded(self, key: Any, gradient: torch.Tensor) -> torch.Tensor:
        """The gradient as a receiver sees it."""
        return self.codes(key, gradient).to(gradient.dtype) * self.threshold


def packed(codes: torch.Tensor) -> torch.Tensor:
    """Four codes as one byte; the last byte is filled up with zeros."""
    flat = torch.zeros(-(-codes.numel() // 4) * 4, dtype=torch.uint8, device=codes.device)
    flat[: codes.numel()] = (codes.reshape(-1) & 3).to(torch.uint8)
    places = flat.view(-1, 4)
    return places[:, 0] | places[:, 1] << 2 | places[:, 2] << 4 | places[:, 3] << 6


def unpacked(data: torch.Tensor, count: int) -> torch.Tensor:
    """The inverse of `packed`, for `count` codes."""
    places = torch.stack([data >> shift & 3 for shift in (0, 2, 4, 6)], 1).reshape(-1)[:count].to(torch.int8)
    return torch.where(places == 3, -1, places)
