"""``encode_param`` and ``decode_param``: parameters as files of text, and back."""

from __future__ import annotations

import ast
import os
import urllib.parse
from typing import Any

import numpy as np

from compatgrad.core.files import replacing

from ...core._file_errors import reading
from ...logger import logger
from ...parameter import get_parameters, load_parameters, save_parameters, set_parameter
from ...variable import Variable

__all__ = ["add_decode_param_command", "add_encode_param_command"]


def save_param_in_txt(x: np.ndarray, filepath: str) -> None:
    """Writes the shape of `x`, and then its values, one a line."""
    with replacing(filepath, "w") as file:
        print(x.shape, file=file)
        np.asarray(x).tofile(file, sep="\n")


def load_param_in_txt(name: str, filepath: str) -> None:
    """Registers what `save_param_in_txt` wrote as the parameter `name`."""
    with open(filepath) as file, reading(filepath, "parameter"):
        shape = ast.literal_eval(file.readline())
        values = np.array(file.read().split(), np.float32).reshape(shape)
    set_parameter(name, Variable.from_numpy_array(values, need_grad=True))


def decode_param_command(args: Any, **kwargs: Any) -> bool:
    """Writes each parameter of a file as text into a folder; "/" in names is "~" in those of files."""
    os.makedirs(args.outdir, exist_ok=True)
    load_parameters(args.param)
    for name, variable in get_parameters(grad_only=False).items():
        file = urllib.parse.quote(name, safe="/ ").replace("~", "%7E").replace("/", "~")
        save_param_in_txt(variable.d, os.path.join(args.outdir, f"{file}.txt"))
    logger.log(99, "Decode Parameter Completed.")
    return True


def encode_param_command(args: Any, **kwargs: Any) -> bool:
    """Makes a file of parameters from those of a folder."""
    for entry in sorted(os.listdir(args.indir)):
        path = os.path.join(args.indir, entry)
        if os.path.isfile(path):
            load_param_in_txt(urllib.parse.unquote(os.path.splitext(entry)[0].replace("~", "/")), path)
    save_parameters(args.param)
    logger.log(99, "Encode Parameter Completed.")
    return True


def add_decode_param_command(subparsers: Any) -> None:
    """Adds the command ``decode_param``."""
    parser = subparsers.add_parser("decode_param", help="write parameters as text")
    parser.add_argument("-p", "--param", required=True, help="file of parameters")
    parser.add_argument("-o", "--outdir", required=True, help="folder for the texts")
    parser.set_defaults(func=decode_param_command)


def add_encode_param_command(subparsers: Any) -> None:
    """Adds the command ``encode_param``."""
    parser = subparsers.add_parser("encode_param", help="make a file of parameters from texts")
    parser.add_argument("-i", "--indir", required=True, help="folder of the texts")
    parser.add_argument("-p", "--param", required=True, help="file of parameters")
    parser.set_defaults(func=encode_param_command)
