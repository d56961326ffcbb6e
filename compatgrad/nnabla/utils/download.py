"""Downloads of data sets, kept in a folder."""

import os
import urllib.request

from ..logger import logger

_BLOCK = 1 << 20


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
        # A broken download must not be taken for the file at the next run.
        part = f"{target}.part{os.getpid()}"
        try:
            with urllib.request.urlopen(url) as source, open(part, "wb") as file:
                _copy(source, file, name)
            os.replace(part, target)
        finally:
            if os.path.exists(part):
                os.remove(part)
    return open(target, "rb") if open_file else None


def _copy(source, target, name):
    total = int(source.headers.get("Content-Length") or 0)
    try:
        from tqdm import tqdm
    except ImportError:
        tqdm = None
    bar = tqdm(total=total, desc=name, unit="B", unit_scale=True, unit_divisor=1024) if tqdm else None
    while block := source.read(_BLOCK):
        target.write(block)
        if bar:
            bar.update(len(block))
    if bar:
        bar.close()
