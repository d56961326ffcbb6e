"""The formats that can be read and written."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["extensions", "formats"]


class _SupportedInfo(NamedTuple):
    import_name: list[str]
    export_name: list[str]


extensions = _SupportedInfo([".nnp"], [".nnp", ".onnx"])
formats = _SupportedInfo(["NNP"], ["NNP", "ONNX"])
