"""The originals: their versions and packages."""

from __future__ import annotations

# frontend -> the name and version of its original
ORIGINALS = {"chainer": "Chainer 7.8.1", "nnabla": "nnabla 1.39.0", "mxnet": "MXNet 1.9.1"}
# top-level package -> frontend
FRONTENDS = {
    "chainer": "chainer",
    "chainermn": "chainer",
    "chainerx": "chainer",
    "onnx_chainer": "chainer",
    "nnabla": "nnabla",
    "nnabla_ext": "nnabla",
    "mxnet": "mxnet",
}
# packages whose names were not recorded: a row with a wildcard is about all names that compatgrad does not have
NOT_RECORDED = ("chainerx",)


def original_name(module: str) -> tuple[str, str] | None:
    """The original's name of a module of ours, and its frontend: `compatgrad.chainer.links` is `chainer.links`."""
    name = module.removeprefix("compatgrad.")
    frontend = FRONTENDS.get(name.partition(".")[0])
    return None if frontend is None else (name, frontend)
