"""The cache of datasets on disk, in the layout of the original."""

import hashlib
import os
import sys
import urllib.request

from compatgrad.chainer import utils
from compatgrad.core.files import beside

_dataset_root = os.environ.get("CHAINER_DATASET_ROOT", os.path.join(os.path.expanduser("~"), ".chainer", "dataset"))


def get_dataset_root():
    """Folder of all datasets: ``$CHAINER_DATASET_ROOT``, else ``~/.chainer/dataset``."""
    return _dataset_root


def set_dataset_root(path):
    """Set the folder of all datasets."""
    global _dataset_root
    _dataset_root = path


def get_dataset_directory(dataset_name, create_directory=True):
    """Folder of one dataset, made unless told otherwise. The name may contain slashes."""
    path = os.path.join(_dataset_root, dataset_name)
    if create_directory:
        os.makedirs(path, exist_ok=True)
    return path


def cached_download(url):
    """Return the path of a local copy of `url`, downloading it where there is none.

    Raises OSError that names the URL and the path of the copy where that fails.
    """
    cache_root = os.path.join(_dataset_root, "_dl_cache")
    os.makedirs(cache_root, exist_ok=True)
    cache_path = os.path.join(cache_root, hashlib.md5(url.encode(), usedforsecurity=False).hexdigest())
    if os.path.exists(cache_path):
        return cache_path
    print(f"Downloading from {url}...", file=sys.stderr, flush=True)
    try:
        # Another process sees no file or a complete one. `urlretrieve`, which programs replace in their tests.
        with beside(cache_path) as temp_path:
            urllib.request.urlretrieve(url, temp_path)
    except OSError as e:
        raise OSError(
            f"cannot download {url}: {e}\nWith a copy of the file from elsewhere, save it as {cache_path}"
        ) from e
    return cache_path


def cache_or_load_file(path, creator, loader):
    """Return ``loader(path)`` where the file exists, else make it and return ``creator(temporary path)``.

    The file appears under `path` when it is complete. Raises RuntimeError where the dataset root cannot be
    made.
    """
    if os.path.exists(path):
        return loader(path)
    try:
        os.makedirs(_dataset_root, exist_ok=True)
    except OSError as e:
        raise RuntimeError(f"cannot create dataset directory {_dataset_root}") from e
    with utils.tempdir(dir=os.path.dirname(os.path.abspath(path))) as folder:
        temp_path = os.path.join(folder, os.path.basename(path))
        content = creator(temp_path)
        os.replace(temp_path, path)
    return content
