"""``encode_param`` and ``decode_param``: convert parameters to text files and back."""

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
from ._steps import adds, command

__all__ = ["add_decode_param_command", "add_encode_param_command"]


def save_param_in_txt(x: np.ndarray, filepath: str) -> None:
    r"""Writes an array as text: its shape, and then its values, one per line.

    Args:
        x: the array.
        filepath: the file.

    Raises:
        OSError: the file cannot be written.

    Example:
        >>> from compatgrad.nnabla.utils.cli.encode_decode_param import save_param_in_txt
        >>> save_param_in_txt(np.array([[1.0, 2.5]], np.float32), "w.txt")
        >>> open("w.txt").read().split("\n")
        ['(1, 2)', '1.0', '2.5']

    Source: `nnabla.utils.cli.encode_decode_param.save_param_in_txt` of nnabla 1.39.0.
    """
    with replacing(filepath, "w") as file:
        print(x.shape, file=file)
        np.asarray(x).tofile(file, sep="\n")


def load_param_in_txt(name: str, filepath: str) -> None:
    """Registers the array in a file of `save_param_in_txt` as a parameter.

    Args:
        name: the parameter's name.
        filepath: the file.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is damaged.

    Example:
        >>> from compatgrad.nnabla.utils.cli.encode_decode_param import load_param_in_txt, save_param_in_txt
        >>> save_param_in_txt(np.array([[1.0, 2.5]], np.float32), "w.txt")
        >>> load_param_in_txt("fc/w", "w.txt")
        >>> nn.get_parameters()["fc/w"].d
        array([[1. , 2.5]], dtype=float32)

    Source: `nnabla.utils.cli.encode_decode_param.load_param_in_txt` of nnabla 1.39.0.
    """
    with open(filepath) as file, reading(filepath, "parameter"):
        shape = ast.literal_eval(file.readline())
        values = np.array(file.read().split(), np.float32).reshape(shape)
    set_parameter(name, Variable.from_numpy_array(values, need_grad=True))


@command
def decode_param_command(args: Any, **kwargs: Any) -> bool:
    """Writes each parameter of a file as text into a folder; in the names of files, "~" replaces "/".

    Args:
        **kwargs: have no effect.

    Example:
        >>> import os
        >>> from types import SimpleNamespace
        >>> from compatgrad.nnabla.utils.cli.encode_decode_param import decode_param_command
        >>> nn.save_parameters("fc.h5", {"fc/w": nn.Variable((2,)), "fc/b": nn.Variable(())})
        >>> decode_param_command(SimpleNamespace(param="fc.h5", outdir="texts"))
        True
        >>> sorted(os.listdir("texts"))
        ['fc~b.txt', 'fc~w.txt']
    """
    os.makedirs(args.outdir, exist_ok=True)
    load_parameters(args.param)
    for name, variable in get_parameters(grad_only=False).items():
        file = urllib.parse.quote(name, safe="/ ").replace("~", "%7E").replace("/", "~")
        save_param_in_txt(variable.d, os.path.join(args.outdir, f"{file}.txt"))
    logger.log(99, "Decode Parameter Completed.")
    return True


@command
def encode_param_command(args: Any, **kwargs: Any) -> bool:
    """Makes a file of parameters from the text files in a folder.

    Args:
        **kwargs: have no effect.

    Example:
        >>> import os
        >>> from types import SimpleNamespace
        >>> from compatgrad.nnabla.utils.cli.encode_decode_param import encode_param_command, save_param_in_txt
        >>> os.mkdir("texts")
        >>> save_param_in_txt(np.array([1.0, 2.5], np.float32), "texts/fc~w.txt")
        >>> encode_param_command(SimpleNamespace(indir="texts", param="fc.h5"))
        True
        >>> list(nn.get_parameters())
        ['fc/w']
    """
    for entry in sorted(os.listdir(args.indir)):
        path = os.path.join(args.indir, entry)
        if os.path.isfile(path):
            load_param_in_txt(urllib.parse.unquote(os.path.splitext(entry)[0].replace("~", "/")), path)
    save_parameters(args.param)
    logger.log(99, "Encode Parameter Completed.")
    return True


@adds("decode_param -p net.h5 -o texts", "decode_param_command", outdir="texts")
def add_decode_param_command(subparsers: Any) -> None:
    parser = subparsers.add_parser("decode_param", help="write parameters as text")
    parser.add_argument("-p", "--param", required=True, help="file of parameters")
    parser.add_argument("-o", "--outdir", required=True, help="folder for the text files")
    parser.set_defaults(func=decode_param_command)


@adds("encode_param -i texts -p net.h5", "encode_param_command", indir="texts")
def add_encode_param_command(subparsers: Any) -> None:
    parser = subparsers.add_parser("encode_param", help="make a file of parameters from text files")
    parser.add_argument("-i", "--indir", required=True, help="folder of the text files")
    parser.add_argument("-p", "--param", required=True, help="file of parameters")
    parser.set_defaults(func=encode_param_command)
