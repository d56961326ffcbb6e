"""Conversion of network files: expands, merges and splits networks, and writes them in other formats."""

from .commands import convert_files, dump_files, nnb_template
from .supported_info import extensions, formats
from .utils import calc_shape_size, func_set_import_nnp, func_set_nnabla_support, search_network, select_executor

__all__ = [
    "calc_shape_size",
    "convert_files",
    "dump_files",
    "extensions",
    "formats",
    "func_set_import_nnp",
    "func_set_nnabla_support",
    "nnb_template",
    "search_network",
    "select_executor",
]
