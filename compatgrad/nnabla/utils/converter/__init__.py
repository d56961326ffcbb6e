"""Conversion of network files: their networks written out, put together, split, and stored in other ways."""

from .commands import convert_files, dump_files, nnb_template
from .supported_info import extensions, formats
from .utils import calc_shape_size, search_network, select_executor

__all__ = [
    "calc_shape_size", "convert_files", "dump_files", "extensions", "formats", "nnb_template", "search_network",
    "select_executor",
]
