"""Saving to and loading from NPZ archives. Mirrors ``chainer.serializers.npz``.

A parameter without a value is stored as an object array of None; `load_npz` loads other objects only with
``allow_pickle=True``.
"""

from __future__ import annotations

import math
import os
from typing import IO, TYPE_CHECKING, Any

import numpy

from compatgrad.chainer import _loading, serializer
from compatgrad.chainer.backends import _cpu, cuda
from compatgrad.core.files import naming, replacing
from compatgrad.formats import npy
from compatgrad.formats.npz import Archive

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

__all__ = ["DictionarySerializer", "NpzDeserializer", "load_npz", "save_npz", "serialize"]


class DictionarySerializer(serializer.Serializer):
    """Saves values as NumPy arrays in a flat dictionary, for `numpy.savez`. Keys are paths: the names of
    children, joined by "/".

    Args:
        target: the dictionary to store values in; None makes a new one. It is the attribute `target`.
        path: prefix of all keys.

    Example:
        >>> layer = L.Linear(2, 1)
        >>> serializer = chainer.serializers.DictionarySerializer()
        >>> serializer["model"].save(layer)
        >>> {name: array.shape for name, array in sorted(serializer.target.items())}
        {'model/W': (1, 2), 'model/b': (1,)}

    Source: `chainer.serializers.DictionarySerializer` of Chainer 7.8.1.
    """

    def __init__(self, target: dict[str, np.ndarray] | None = None, path: str = "") -> None:
        self.target = {} if target is None else target
        self.path = path

    def __getitem__(self, key):
        return DictionarySerializer(self.target, f"{self.path}{key.strip('/')}/")

    def __call__(self, key: str, value: Any) -> Any:
        self.target[self.path + key.lstrip("/")] = numpy.asarray(None) if value is None else _cpu._to_cpu(value)
        return value


def serialize(obj: Any) -> dict[str, np.ndarray]:
    """The flat dictionary of arrays that an object serializes to.

    Args:
        obj: an object with a method `serialize(serializer)`: a link, an optimizer, a trainer.

    Returns:
        Arrays on the CPU by their paths.

    Raises:
        AttributeError: `obj` has no method `serialize`.

    Example:
        >>> state = chainer.serializers.npz.serialize(L.Linear(2, 1, initialW=3))
        >>> state["W"]
        array([[3., 3.]], dtype=float32)

    Source: `chainer.serializers.npz.serialize` of Chainer 7.8.1.
    """
    s = DictionarySerializer()
    s.save(obj)
    return s.target


def save_npz(file: str | IO[bytes], obj: Any, compression: bool = True) -> None:
    """Saves an object to an NPZ archive. A file of that name appears once it is complete; an error leaves an older one
    as it was.

    Args:
        file: name of the file, or a binary file that is open for writing.
        obj: an object with a method `serialize(serializer)`, or a dictionary of arrays.
        compression: True compresses the archive, by zlib.

    Raises:
        AttributeError: `obj` is neither.
        OSError: the file cannot be written.

    Example:
        >>> layer = L.Linear(2, 1)
        >>> chainer.serializers.save_npz("layer.npz", layer)
        >>> with np.load("layer.npz") as archive:
        ...     sorted(archive)
        ['W', 'b']

    Source: `chainer.serializers.save_npz` of Chainer 7.8.1.
    """
    if isinstance(file, str):
        with replacing(file) as f:
            save_npz(f, obj, compression)
        return
    save = numpy.savez_compressed if compression else numpy.savez
    save(file, **(obj if isinstance(obj, dict) else serialize(obj)))


class NpzDeserializer(serializer.Deserializer):
    """Loads values from arrays by their paths; an array is copied into the existing array.

    Args:
        npz: arrays by their paths.
        path: prefix of all keys.
        strict: True raises KeyError for a value that is missing; False leaves it as it is.
        ignore_names: values that are not loaded: a path, a function that returns True for such paths, or a list of
            both.

    Raises:
        KeyError: when called for a value that is missing, if `strict`.
        ValueError: when called, `ignore_names` is something else, or the shapes differ.
        TypeError: when called, a number does not fit into the type of the old value, such as a saved float into an int.

    Example:
        >>> layer = L.Linear(2, 1)
        >>> arrays = {"W": np.array([[1, 2]]), "b": np.array([3])}
        >>> chainer.serializers.NpzDeserializer(arrays, ignore_names="b").load(layer)
        >>> layer.W.array, layer.b.array
        (array([[1., 2.]], dtype=float32), array([0.], dtype=float32))

    Source: `chainer.serializers.NpzDeserializer` of Chainer 7.8.1.
    """

    def __init__(
        self, npz: Mapping[str, np.ndarray], path: str = "", strict: bool = True, ignore_names: Any = None
    ) -> None:
        self.npz = npz
        self.path = path
        self.strict = strict
        self.ignore_names = [] if ignore_names is None else ignore_names

    def __getitem__(self, key):
        path = f"{self.path}{key.strip('/')}/"
        return NpzDeserializer(self.npz, path, strict=self.strict, ignore_names=self.ignore_names)

    def __call__(self, key: str, value: Any) -> Any:
        key = self.path + key.lstrip("/")
        _loading.before()
        if not self.strict and key not in self.npz or self._ignores(key):
            return value
        if isinstance(self.npz, Archive):
            self._check(key, value)
        saved = self.npz[key]
        if saved[()] is None:
            return None
        if value is None:
            return saved
        try:
            if isinstance(value, numpy.ndarray):
                _loading.before(value)
                numpy.copyto(value, saved)
                return value
            if isinstance(value, cuda.ndarray):
                _loading.before(value)
                value.set(numpy.asarray(saved, dtype=value.dtype))
                return value
            return _convert(numpy.asarray(saved), type(value))
        except (TypeError, ValueError, OverflowError) as e:
            raise type(e)(f"{key!r} in {getattr(self.npz, 'name', 'the archive')}: {e}") from e

    def _check(self, key, value):
        # Check the shape before the array is decompressed: a small file may contain a very large array.
        shape, dtype = self.npz.announced(key)
        if dtype.hasobject or value is None:
            return
        if isinstance(value, (numpy.ndarray, cuda.ndarray)):
            if not npy.fits(shape, value.shape):
                raise ValueError(
                    f"{key!r} in {self.npz.name}: could not broadcast input array from shape {shape} into shape "
                    f"{value.shape}"
                )
        elif isinstance(value, (bool, int, float, complex, str)) and math.prod(shape) != 1:
            raise TypeError(f"{key!r} in {self.npz.name}: expected one value, found an array of shape {shape}")

    def _ignores(self, key):
        names = self.ignore_names
        for name in names if isinstance(names, (list, tuple)) else (names,):
            if isinstance(name, str):
                ignored = name == key
            elif callable(name):
                ignored = name(key)
            else:
                raise ValueError(f"ignore_names needs to be a callable, string or list of them, not {type(name)}.")
            if ignored:
                return True
        return False


def _convert(saved, kind):
    # Python's int holds any integer, but numpy.can_cast refuses those that are wider than the platform's integer.
    lossless = saved.dtype.kind in "iu" and kind is int or numpy.can_cast(saved.dtype, kind, casting="safe")
    if issubclass(saved.dtype.type, numpy.number) and not lossless:
        raise TypeError(
            f"Cannot safely deserialize from numpy array with dtype={saved.dtype} into a variable of type {kind}."
        )
    return kind(saved)


def load_npz(
    file: str | os.PathLike[str] | IO[bytes],
    obj: Any,
    path: str = "",
    strict: bool = True,
    ignore_names: Any = None,
    *,
    allow_pickle: bool = False,
) -> None:
    """Loads an NPZ archive into an object.

    Args:
        file: name of the file, or a binary file that is open for reading.
        obj: an object with a method `serialize(serializer)`, whose values are replaced.
        path: prefix of the paths to load from the archive: the model in a trainer's snapshot has the prefix
            "updater/model:main/".
        strict: True raises KeyError for a value that is missing; False leaves it as it is.
        ignore_names: values that are not loaded: a path, a function that returns True for such paths, or a list of
            both.
        allow_pickle: True unpickles objects in the archive, which runs code that the file contains.

    Raises:
        FileNotFoundError: there is no such file.
        zipfile.BadZipFile: the file is no archive, or is damaged.
        KeyError: a value is missing, if `strict`.
        ValueError: shapes differ, `ignore_names` is something else, or the archive contains pickled objects without
            `allow_pickle`.

    Example:
        >>> chainer.serializers.save_npz("layer.npz", L.Linear(2, 1, initialW=3))
        >>> layer = L.Linear(2, 1)
        >>> chainer.serializers.load_npz("layer.npz", layer)
        >>> layer.W.array
        array([[3., 3.]], dtype=float32)

    Source: `chainer.serializers.load_npz` of Chainer 7.8.1.
    """
    if not isinstance(file, (str, bytes, os.PathLike)) and not hasattr(file, "read"):
        raise TypeError(f"load_npz: file: expected a path or an open file, got {type(file).__name__}")
    with Archive(file, allow_pickle) as npz, naming(file, RecursionError), naming(file, to=TypeError):
        NpzDeserializer(npz, path=path, strict=strict, ignore_names=ignore_names).load(obj)
