"""Downloads data sets into a folder."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from compatgrad.formats import downloads

from ..logger import logger

if TYPE_CHECKING:
    from typing import BinaryIO


def get_data_home() -> str:
    """The folder of downloads, ~/nnabla_data, which is made if it does not exist.

    Returns:
        The folder's path; ./nnabla_data for a user without a home folder.

    Example:
        >>> import os
        >>> from compatgrad.nnabla.utils.download import get_data_home
        >>> get_data_home() == os.path.expanduser("~/nnabla_data")  # doctest: +SKIP
        True

    Source: `nnabla.utils.download.get_data_home` of nnabla 1.39.0.
    """
    home = os.path.expanduser("~/nnabla_data")
    if home == "/nnabla_data":  # a user without a home folder
        home = "./nnabla_data"
    os.makedirs(home, exist_ok=True)
    return home


def download(
    url: str,
    output_file: str | None = None,
    open_file: bool = True,
    allow_overwrite: bool = False,
) -> BinaryIO | None:
    """Downloads a file, unless it has been downloaded before.

    Args:
        url: the file's address.
        output_file: the path to which it is written; None for a file of the same name in the folder of `get_data_home`.
        open_file: whether to open the file.
        allow_overwrite: whether to download it again where it exists.

    Returns:
        The file, opened for reading bytes, or None.

    Raises:
        urllib.error.URLError: the address cannot be read.

    Example:
        >>> import pathlib
        >>> from compatgrad.nnabla.utils.download import download
        >>> _ = open("there.txt", "w").write("content")
        >>> with download(pathlib.Path("there.txt").absolute().as_uri(), output_file="here.txt") as file:
        ...     file.read()
        b'content'

    Source: `nnabla.utils.download.download` of nnabla 1.39.0.
    """
    name = url.split("/")[-1]
    target = os.path.join(get_data_home(), name) if output_file is None else output_file
    if os.path.exists(target) and not allow_overwrite:
        logger.info("> %s already exists.", target)
        logger.info("> Remove it and run again if there is anything wrong with it.")
    else:
        with _progress(name) as progress:
            downloads.fetch(url, target, progress)
    return open(target, "rb") if open_file else None


@contextlib.contextmanager
def _progress(name):
    """A function that shows the progress in bytes of a total; None without tqdm."""
    try:
        from tqdm import tqdm
    except ImportError:
        yield None
        return
    with tqdm(desc=name, unit="B", unit_scale=True, unit_divisor=1024) as bar:

        def show(count, total):
            bar.total = total
            bar.update(count)

        yield show
