"""Files that MXNet's tests and examples fetch: data sets into the folder `data`, and published models."""

from __future__ import annotations

import bz2
import os
import shutil
import zipfile

from compatgrad.core.files import replacing

__all__ = [
    "download_model", "get_bz2_data", "get_cifar10", "get_im2rec_path", "get_mnist_pkl", "get_mnist_ubyte",
    "get_zip_data",
]  # fmt: skip

_SERVER = "http://data.mxnet.io"
_IMAGENET = {
    "imagenet1k-inception-bn": ("imagenet/inception-bn/Inception-BN", "0126"),
    **{f"imagenet1k-resnet-{n}": (f"imagenet/resnet/{n}-layers/resnet-{n}", "0000") for n in (18, 34, 50, 101, 152)},
    **{f"imagenet1k-resnext-{n}": (f"imagenet/resnext/{n}-layers/resnext-{n}", "0000") for n in (50, 101)},
    "imagenet1k-resnext-101-64x4d": ("imagenet/resnext/101-layers/resnext-101-64x4d", "0000"),
    "imagenet11k-resnet-152": ("imagenet-11k/resnet-152/resnet-152", "0000"),
    "imagenet11k-place365ch-resnet-152": ("imagenet-11k-place365-ch/resnet-152", "0000"),
    "imagenet11k-place365ch-resnet-50": ("imagenet-11k-place365-ch/resnet-50", "0000"),
}
_MODELS = {
    name: {"symbol": f"{_SERVER}/models/{path}-symbol.json", "params": f"{_SERVER}/models/{path}-{epoch}.params"}
    for name, (path, epoch) in _IMAGENET.items()
}


def _download(url: str, dirname: str, fname: str | None = None) -> str:
    from .gluon.utils import download

    os.makedirs(dirname, exist_ok=True)
    return download(url, os.path.join(dirname, fname or url.split("/")[-1]))


def _zip_into_data(url: str, files: tuple[str, ...]) -> None:
    """Unpacks an archive into `data`, unless all these files exist."""
    if not all(os.path.exists(os.path.join("data", name)) for name in files):
        with zipfile.ZipFile(_download(url, "data")) as archive:
            archive.extractall("data")


def get_mnist_pkl() -> None:
    """Fetches MNIST as data/mnist.pkl.gz, unless it exists. OSError if that fails.

    Example:
        With network access::

            mx.test_utils.get_mnist_pkl()

    Source: `mxnet.test_utils.get_mnist_pkl` of MXNet 1.9.1.
    """
    if not os.path.exists("data/mnist.pkl.gz"):
        _download("http://deeplearning.net/data/mnist/mnist.pkl.gz", "data")


def get_mnist_ubyte() -> None:
    """Fetches the four files of MNIST, data/train-images-idx3-ubyte and so on, unless they exist. OSError if that
    fails.

    Example:
        With network access::

            mx.test_utils.get_mnist_ubyte()

    Source: `mxnet.test_utils.get_mnist_ubyte` of MXNet 1.9.1.
    """
    files = (f"{part}-{kind}-ubyte" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1"))
    _zip_into_data(f"{_SERVER}/mxnet/data/mnist.zip", tuple(files))


def get_cifar10() -> None:
    """Fetches CIFAR10 as records, data/cifar/train.rec and so on, unless they exist. OSError if that fails.

    Example:
        With network access::

            mx.test_utils.get_cifar10()

    Source: `mxnet.test_utils.get_cifar10` of MXNet 1.9.1.
    """
    files = tuple(f"cifar/{part}.{kind}" for part in ("train", "test") for kind in ("rec", "lst"))
    _zip_into_data(f"{_SERVER}/mxnet/data/cifar10.zip", files)


def get_zip_data(data_dir: str, url: str, data_origin_name: str) -> None:
    """Fetches an archive and unpacks it, unless it exists.

    Args:
        data_dir: the folder that it is put and unpacked into.
        url: its address.
        data_origin_name: its name in the folder.

    Raises:
        OSError: it cannot be fetched.
        zipfile.BadZipFile: it is no zip archive.

    Example:
        >>> import os, pathlib, zipfile
        >>> with zipfile.ZipFile("source.zip", "w") as archive: archive.writestr("one.txt", "1")
        >>> mx.test_utils.get_zip_data("unpacked", pathlib.Path("source.zip").absolute().as_uri(), "texts.zip")
        Downloading unpacked/texts.zip from file:///...
        >>> sorted(os.listdir("unpacked"))
        ['one.txt', 'texts.zip']

    Source: `mxnet.test_utils.get_zip_data` of MXNet 1.9.1.
    """
    if not os.path.exists(os.path.join(data_dir, data_origin_name)):
        with zipfile.ZipFile(_download(url, data_dir, data_origin_name)) as archive:
            archive.extractall(data_dir)


def get_bz2_data(data_dir: str, data_name: str, url: str, data_origin_name: str) -> None:
    """Fetches a file compressed by bzip2 and unpacks it, unless the result exists.

    Args:
        data_dir: the folder that it is put into.
        data_name: name of the unpacked file.
        url: address of the compressed file.
        data_origin_name: name of the compressed file in the folder, which is removed afterwards.

    Raises:
        OSError: it cannot be fetched, or is not compressed by bzip2.

    Example:
        >>> import bz2, os, pathlib
        >>> written = pathlib.Path("source.bz2").write_bytes(bz2.compress(b"1"))
        >>> address = pathlib.Path("source.bz2").absolute().as_uri()
        >>> mx.test_utils.get_bz2_data("texts", "one.txt", address, "one.bz2")
        Downloading texts/one.bz2 from file:///...
        >>> os.listdir("texts")
        ['one.txt']

    Source: `mxnet.test_utils.get_bz2_data` of MXNet 1.9.1.
    """
    target = os.path.join(data_dir, data_name)
    if not os.path.exists(target):
        packed = _download(url, data_dir, data_origin_name)
        with bz2.open(packed) as source, replacing(target) as out:
            shutil.copyfileobj(source, out)
        os.remove(packed)


def download_model(
    model_name: str, dst_dir: str = "./", meta_info: dict[str, dict[str, str]] | None = None
) -> tuple[str | None, int]:
    """Fetches the symbol and the parameters of a published model.

    Args:
        model_name: its name, such as "imagenet1k-resnet-18".
        dst_dir: the folder that they are put into.
        meta_info: the addresses, a dict with "symbol" and "params", by names of models; None for MXNet's server.

    Returns:
        The prefix and the epoch, for `mx.model.load_checkpoint`; (None, 0) for an unknown name.

    Raises:
        OSError: they cannot be fetched.
        AssertionError: an address is missing.

    Example:
        >>> mx.test_utils.download_model("nonsuch")
        (None, 0)

    Source: `mxnet.test_utils.download_model` of MXNet 1.9.1.
    """
    models = _MODELS if meta_info is None else dict(meta_info)
    if model_name not in models:
        return None, 0
    addresses = models[model_name]
    assert "symbol" in addresses, "missing symbol url"
    assert "params" in addresses, "missing params file url"
    _download(addresses["symbol"], dst_dir, f"{model_name}-symbol.json")
    _download(addresses["params"], dst_dir, f"{model_name}-0000.params")
    return os.path.join(dst_dir, model_name), 0


def get_im2rec_path(home_env: str = "MXNET_HOME") -> str:
    """The tool im2rec.py of MXNet's sources.

    Args:
        home_env: the environment variable that names the folder of the sources.

    Returns:
        The path.

    Raises:
        OSError: it does not exist.

    Example:
        >>> import pathlib
        >>> pathlib.Path("sources/tools").mkdir(parents=True, exist_ok=True)
        >>> pathlib.Path("sources/tools/im2rec.py").touch()
        >>> with mx.test_utils.environment("MXNET_HOME", "sources"):
        ...     print(mx.test_utils.get_im2rec_path())
        sources/tools/im2rec.py

    Source: `mxnet.test_utils.get_im2rec_path` of MXNet 1.9.1.
    """
    home = os.environ.get(home_env)
    for parts in (("tools",), ("..", "..", "tools")):
        path = os.path.join(home, *parts, "im2rec.py") if home else ""
        if os.path.isfile(path):
            return path
    raise OSError(f"Could not find path to tools/im2rec.py: set {home_env} to a folder of MXNet's sources")
