"""Round trips through the serializers."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from compatgrad.chainer import serializers, utils


def save_and_load(
    src: Any, dst: Any, filename: str, saver: Callable[[str, Any], Any], loader: Callable[[str, Any], Any]
) -> None:
    """Copies the content of an object to another through a file in a temporary folder.

    Args:
        src: object that is saved.
        dst: object that is loaded.
        filename: name of the file.
        saver: saves an object under a path.
        loader: loads an object from a path.

    Raises:
        KeyError: `dst` has a value that the file lacks.

    Example:
        >>> from compatgrad.chainer import testing
        >>> src, dst = L.Linear(1, 1, initialW=3), L.Linear(1, 1)
        >>> testing.save_and_load(src, dst, "x", chainer.serializers.save_npz, chainer.serializers.load_npz)
        >>> dst.W.array
        array([[3.]], dtype=float32)

    Source: `chainer.testing.save_and_load` of Chainer 7.8.1.
    """
    with utils.tempdir() as folder:
        path = os.path.join(folder, filename)
        saver(path, src)
        loader(path, dst)


def save_and_load_npz(src: Any, dst: Any) -> None:
    """Copies the content of an object to another through an npz file.

    Args:
        src: object that is saved, such as a link.
        dst: object that is loaded.

    Raises:
        KeyError: `dst` has a value that the file lacks.

    Example:
        >>> from compatgrad.chainer import testing
        >>> src, dst = L.Linear(1, 1, initialW=3), L.Linear(1, 1)
        >>> testing.save_and_load_npz(src, dst)
        >>> dst.W.array
        array([[3.]], dtype=float32)

    Source: `chainer.testing.save_and_load_npz` of Chainer 7.8.1.
    """
    save_and_load(src, dst, "tmp.npz", serializers.save_npz, serializers.load_npz)


def save_and_load_hdf5(src: Any, dst: Any) -> None:
    """Copies the content of an object to another through an HDF5 file.

    Args:
        src: object that is saved, such as a link.
        dst: object that is loaded.

    Raises:
        KeyError: `dst` has a value that the file lacks.
        RuntimeError: h5py is not installed.

    Example:
        >>> from compatgrad.chainer import testing
        >>> src, dst = L.Linear(1, 1, initialW=3), L.Linear(1, 1)
        >>> testing.save_and_load_hdf5(src, dst)
        >>> dst.W.array
        array([[3.]], dtype=float32)

    Source: `chainer.testing.save_and_load_hdf5` of Chainer 7.8.1.
    """
    save_and_load(src, dst, "tmp.h5", serializers.save_hdf5, serializers.load_hdf5)
