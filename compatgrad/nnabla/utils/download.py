"""Downloads of data sets, kept in a folder."""

import contextlib
import os

from compatgrad.formats.downloads import fetch

from ..logger import logger


def get_data_home():
    """The folder where downloads are kept, ~/nnabla_data; made if need be."""
    home = os.path.expanduser("~/nnabla_data")
    if home == "/nnabla_data":  # a user without a home folder
        home = "./nnabla_data"
    os.makedirs(home, exist_ok=True)
    return home


def download(url, output_file=None, open_file=True, allow_overwrite=False):
    """Fetches `url` to `output_file`, by default a file of its name in the data folder; once only.

    allow_overwrite: fetches again where the file exists. Returns the file, opened for reading bytes, or None
    with open_file=False. urllib.error.URLError where the address cannot be read.
    """
    name = url.split("/")[-1]
    target = os.path.join(get_data_home(), name) if output_file is None else output_file
    if os.path.exists(target) and not allow_overwrite:
        logger.info("> %s already exists.", target)
        logger.info("> Remove it and run again if there is anything wrong with it.")
    else:
        with _progress(name) as progress:
            fetch(url, target, progress)
    return open(target, "rb") if open_file else None


@contextlib.contextmanager
def _progress(name):
    """What shows that so many bytes of a total have come; None without tqdm."""
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
