"""Files that MXNet's tests and examples fetch: data sets into the folder `data`, and published models."""

from __future__ import annotations

import bz2
import os
import shutil
import zipfile

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
    """Unpacks an archive into `data`, unless all these files are there."""
    if not all(os.path.exists(os.path.join("data", name)) for name in files):
        with zipfile.ZipFile(_download(url, "data")) as archive:
            archive.extractall("data")


def get_mnist_pkl() -> None:
    """Fetches MNIST as data/mnist.pkl.gz, unless it is there."""
    if not os.path.exists("data/mnist.pkl.gz"):
        _download("http://deeplearning.net/data/mnist/mnist.pkl.gz", "data")


def get_mnist_ubyte() -> None:
    """Fetches MNIST's four files, data/train-images-idx3-ubyte and so on, unless they are there."""
    files = (f"{part}-{kind}-ubyte" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1"))
    _zip_into_data(f"{_SERVER}/mxnet/data/mnist.zip", tuple(files))


def get_cifar10() -> None:
    """Fetches CIFAR10 as records, data/cifar/train.rec and so on, unless they are there."""
    files = tuple(f"cifar/{part}.{kind}" for part in ("train", "test") for kind in ("rec", "lst"))
    _zip_into_data(f"{_SERVER}/mxnet/data/cifar10.zip", files)


def get_zip_data(data_dir: str, url: str, data_origin_name: str) -> None:
    """Fetches `url` as the file `data_origin_name` of `data_dir`, and unpacks it there, unless it is there."""
    if not os.path.exists(os.path.join(data_dir, data_origin_name)):
        with zipfile.ZipFile(_download(url, data_dir, data_origin_name)) as archive:
            archive.extractall(data_dir)


def get_bz2_data(data_dir: str, data_name: str, url: str, data_origin_name: str) -> None:
    """Fetches `url`, compressed by bzip2, as the file `data_name` of `data_dir`, unless it is there."""
    target = os.path.join(data_dir, data_name)
    if not os.path.exists(target):
        packed = _download(url, data_dir, data_origin_name)
        with bz2.open(packed) as source, open(target, "wb") as out:
            shutil.copyfileobj(source, out)
        os.remove(packed)


def download_model(
    model_name: str, dst_dir: str = "./", meta_info: dict[str, dict[str, str]] | None = None
) -> tuple[str | None, int]:
    """Fetches a published model's symbol and parameters; their prefix and the epoch, or (None, 0) for an unknown name.

    meta_info: the addresses, `symbol` and `params`, by names of models; by default those of MXNet's server.
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
    """The tool im2rec.py of MXNet's sources, in the folder that the environment variable names; OSError without it."""
    home = os.environ.get(home_env)
    for parts in (("tools",), ("..", "..", "tools")):
        path = os.path.join(home, *parts, "im2rec.py") if home else ""
        if os.path.isfile(path):
            return path
    raise OSError(f"Could not find path to tools/im2rec.py: set {home_env} to a folder of MXNet's sources")
