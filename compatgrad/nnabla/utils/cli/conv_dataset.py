"""``conv_dataset``: converts a data set to cache files."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Any

from ..create_cache import CreateCache
from ..data_source import DataSourceWithFileCache
from ..data_source_implements import CacheDataSource
from ._steps import adds, command

__all__ = ["add_conv_dataset_command"]


@command
def conv_dataset_command(args: Any) -> bool:
    r"""Converts a .csv file or a .cache folder into a folder of cache files.

    The result of a .csv file may have any name, but loaders of data sets recognize a folder as a cache by the extension
    .cache.

    Returns:
        Whether it succeeded. If not, a message says why.

    Example:
        >>> from types import SimpleNamespace
        >>> from compatgrad.nnabla.utils.cli.conv_dataset import conv_dataset_command
        >>> with open("data.csv", "w") as file:
        ...     n = file.write("x,y\n1,2\n3,4\n")
        >>> options = {"force": False, "shuffle": False, "normalize": False, "num_of_threads": None}
        >>> conv_dataset_command(SimpleNamespace(source="data.csv", destination="data.cache", **options))
        Number of Data: 2
        True
    """
    if args.num_of_threads is not None and args.num_of_threads <= 0:
        print(f"The number of threads must be positive, not {args.num_of_threads}.")
        return False
    kind = os.path.splitext(args.source)[1].lower()
    if kind not in (".csv", ".cache"):
        print(f"conv_dataset can convert .csv and .cache, not {args.source}.")
        return False
    if kind == ".cache" and not args.destination.lower().endswith(".cache"):
        print(f"conv_dataset can convert .cache to .cache, not to {args.destination}.")
        return False
    if os.path.exists(args.destination):
        if not args.force or not os.path.isdir(args.destination):
            print(f"{args.destination} exists; -F overwrites a folder.")
            return False
        if os.path.exists(args.source) and os.path.samefile(args.source, args.destination):
            print(f"{args.destination} is also the source.")
            return False
    parent = os.path.dirname(os.path.abspath(args.destination))
    os.makedirs(parent, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=parent, prefix=".compatgrad-") as folder:
        made = os.path.join(folder, "new.cache")  # replaces the destination when it is complete
        os.mkdir(made)
        _convert(args, kind, made)
        if os.path.exists(args.destination):
            shutil.rmtree(args.destination)
        os.rename(made, args.destination)
    return True


def _convert(args: Any, kind: str, folder: str) -> None:
    if kind == ".csv":
        cache = CreateCache(args.source, shuffle=args.shuffle, num_of_threads=args.num_of_threads)
        print(f"Number of Data: {cache.size}")
        cache.create(folder, normalize=args.normalize)
        return
    with CacheDataSource(args.source, shuffle=args.shuffle, normalize=args.normalize) as source:
        print(f"Number of Data: {source.size}")
        with DataSourceWithFileCache(source, cache_dir=folder, shuffle=args.shuffle):
            pass


@adds("conv_dataset data.csv data.cache", "conv_dataset_command", source="data.csv")
def add_conv_dataset_command(subparsers: Any) -> None:
    parser = subparsers.add_parser("conv_dataset", help="make cache files of a data set")
    parser.add_argument("-F", "--force", action="store_true", help="overwrite the destination")
    parser.add_argument("-S", "--shuffle", action="store_true", help="shuffle the data")
    parser.add_argument("-N", "--normalize", action="store_true", help="normalize the range of values")
    parser.add_argument("-t", "--num_of_threads", type=int, help="number of threads that read")
    parser.add_argument("source")
    parser.add_argument("destination")
    parser.set_defaults(func=conv_dataset_command)
