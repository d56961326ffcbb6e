"""The cache of datasets on disk, in the layout of the original."""

from __future__ import annotations

import hashlib
import os
import sys
import urllib.request
from collections.abc import Callable
from typing import Any

from compatgrad.chainer import utils  # noqa: F401  programs find it here, as in Chainer
from compatgrad.core.files import beside, in_folder_beside

_dataset_root = os.environ.get("CHAINER_DATASET_ROOT", os.path.join(os.path.expanduser("~"), ".chainer", "dataset"))


def get_dataset_root() -> str:
    """The folder of all datasets that Chainer downloads.

    Returns:
        The path that `set_dataset_root` set; by default `$CHAINER_DATASET_ROOT`, or `~/.chainer/dataset`.

    Example:
        path = os.path.join(chainer.dataset.get_dataset_root(), "pfnet/chainer/mnist")

    Source: `chainer.dataset.get_dataset_root` of Chainer 7.8.1.
    """
    return _dataset_root


def set_dataset_root(path: str) -> None:
    """Sets the folder of all datasets that Chainer downloads.

    Args:
        path: the folder; it is made when it is needed.

    Raises:
        TypeError: when it is used, `path` is no path.

    Example:
        >>> root = chainer.dataset.get_dataset_root()
        >>> chainer.dataset.set_dataset_root("datasets")
        >>> chainer.dataset.get_dataset_root()
        'datasets'
        >>> chainer.dataset.set_dataset_root(root)

    Source: `chainer.dataset.set_dataset_root` of Chainer 7.8.1.
    """
    global _dataset_root
    _dataset_root = path


def get_dataset_directory(dataset_name: str, create_directory: bool = True) -> str:
    """The folder of one dataset.

    Args:
        dataset_name: its name, which may contain slashes.
        create_directory: True creates the folder if it does not exist.

    Returns:
        The path, below the folder of all datasets.

    Raises:
        OSError: the folder cannot be made.
        TypeError: `dataset_name` is no string.

    Example:
        >>> path = chainer.dataset.get_dataset_directory("pfnet/chainer/mnist", create_directory=False)
        >>> path == chainer.dataset.get_dataset_root() + "/pfnet/chainer/mnist"
        True

    Source: `chainer.dataset.get_dataset_directory` of Chainer 7.8.1.
    """
    path = os.path.join(_dataset_root, dataset_name)
    if create_directory:
        os.makedirs(path, exist_ok=True)
    return path


def cached_download(url: str) -> str:
    """Downloads a file, unless there is a copy of it in `_dl_cache` below the folder of all datasets. Other processes
    never see an incomplete copy.

    Args:
        url: address of the file.

    Returns:
        Path of the copy.

    Raises:
        OSError: the file cannot be downloaded or written; the message names the address, the path, and where to put a
            copy of the file from elsewhere.
        ValueError: `url` is no address.

    Example:
        path = chainer.dataset.cached_download("https://example.com/data.zip")

    Source: `chainer.dataset.cached_download` of Chainer 7.8.1.
    """
    cache_root = os.path.join(_dataset_root, "_dl_cache")
    os.makedirs(cache_root, exist_ok=True)
    cache_path = os.path.join(cache_root, hashlib.md5(url.encode(), usedforsecurity=False).hexdigest())
    if os.path.exists(cache_path):
        return cache_path
    print(f"Downloading from {url}...", file=sys.stderr, flush=True)
    try:
        # Other processes must not see an incomplete file. `urlretrieve` is called by its module, because tests of
        # programs replace it there.
        with beside(cache_path) as temp_path:
            urllib.request.urlretrieve(url, temp_path)
    except OSError as e:
        raise OSError(
            f"cannot download {url}: {e}\nWith a copy of the file from elsewhere, save it as {cache_path}"
        ) from e
    return cache_path


def cache_or_load_file(path: str, creator: Callable[[str], Any], loader: Callable[[str], Any]) -> Any:
    """Loads a file, which is created first if it does not exist. Other processes never see an incomplete file.

    Args:
        path: path of the file, in an existing folder.
        creator: writes the file under the path that it gets, and returns its content.
        loader: returns the content of the file.

    Returns:
        The return value of `creator` or `loader`.

    Raises:
        OSError: the folder does not exist, or `creator` writes no file.
        RuntimeError: the folder of all datasets cannot be made.

    Example:
        >>> def creator(path):
        ...     np.save(path, np.arange(3))
        ...     return "made"
        >>> root = chainer.dataset.get_dataset_root()
        >>> chainer.dataset.set_dataset_root(".")
        >>> [str(chainer.dataset.cache_or_load_file("data.npy", creator, np.load)) for _ in range(2)]
        ['made', '[0 1 2]']
        >>> chainer.dataset.set_dataset_root(root)

    Source: `chainer.dataset.cache_or_load_file` of Chainer 7.8.1.
    """
    if os.path.exists(path):
        return loader(path)
    try:
        os.makedirs(_dataset_root, exist_ok=True)
    except OSError as e:
        raise RuntimeError(f"cannot create dataset directory {_dataset_root}") from e
    with in_folder_beside(path) as temp_path:
        content = creator(temp_path)
    return content
