"""Saving to and loading from HDF5 files, by h5py. Mirrors ``chainer.serializers.hdf5``."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy

from compatgrad.chainer import _loading, serializer
from compatgrad.chainer.backends import _cpu, cuda
from compatgrad.core.files import naming
from compatgrad.formats import hdf5

__all__ = ["HDF5Deserializer", "HDF5Serializer", "load_hdf5", "save_hdf5"]


def _h5py():
    try:
        return hdf5.h5py()
    except ImportError as e:
        raise RuntimeError("h5py is not installed on your environment: pip install h5py") from e


def __getattr__(name):
    if name == "_available":
        return importlib.util.find_spec("h5py") is not None
    from compatgrad.names.absent import no_attribute

    raise no_attribute(__name__, name)


def _create_dataset(group, key, array, compression):
    # HDF5 compresses only chunked data, and scalars cannot be chunked.
    group.create_dataset(key, data=array, compression=None if array.size <= 1 else compression)


class HDF5Serializer(serializer.Serializer):
    """Saves values as datasets into a group of an HDF5 file; children become groups in it.

    Args:
        group: the `h5py.Group`.
        compression: level of gzip, 0 to 9; None stores arrays as they are.

    Raises:
        RuntimeError: h5py is not installed.

    Example:
        >>> import h5py
        >>> with h5py.File("layer.h5", "w") as file:
        ...     chainer.serializers.HDF5Serializer(file).save(L.Linear(2, 1))
        ...     print(file["W"].shape)
        (1, 2)

    Source: `chainer.serializers.HDF5Serializer` of Chainer 7.8.1.
    """

    def __init__(self, group: Any, compression: int | None = 4) -> None:
        _h5py()
        self.group = group
        self.compression = compression

    def __getitem__(self, key):
        return HDF5Serializer(self.group.require_group(f"{self.group.name}/{key}"), self.compression)

    def __call__(self, key: str, value: Any) -> Any:
        if value is None:
            self.group.create_dataset(key, data=_h5py().Empty("f"))
        else:
            _create_dataset(self.group, key, _cpu._to_cpu(value), self.compression)
        return value


def save_hdf5(filename: str, obj: Any, compression: int | None = 4) -> None:
    """Saves an object to an HDF5 file. The file replaces an older one only when it is complete; an error leaves the
    older file unchanged.

    Args:
        filename: name of the file.
        obj: an object with a method `serialize(serializer)`, or a dictionary of arrays.
        compression: level of gzip, 0 to 9; None stores arrays as they are.

    Raises:
        RuntimeError: h5py is not installed.
        ValueError: `compression` is above 9.
        TypeError: HDF5 cannot store a value of the dictionary, such as an object array.
        AttributeError: `obj` is neither such an object nor a dictionary.

    Example:
        >>> chainer.serializers.save_hdf5("arrays.h5", {"x": np.array([1, 2])})
        >>> import h5py
        >>> with h5py.File("arrays.h5") as file:
        ...     file["x"][:]
        array([1, 2])

    Source: `chainer.serializers.save_hdf5` of Chainer 7.8.1.
    """
    _h5py()
    with hdf5.creating(filename) as f:
        if not isinstance(obj, dict):
            HDF5Serializer(f, compression=compression).save(obj)
            return
        for key, value in obj.items():
            try:
                _create_dataset(f, "/" + key.lstrip("/"), numpy.asarray(value), compression)
            except TypeError as e:
                raise TypeError(f"HDF5 cannot hold the value of {key!r}: {e}") from e


class HDF5Deserializer(serializer.Deserializer):
    """Loads values from the datasets of a group of an HDF5 file; an array is copied into the existing array.

    Args:
        group: the `h5py.Group`; None stands for a missing group.
        strict: True raises an error for a value that is missing; False leaves it as it is.

    Raises:
        RuntimeError: h5py is not installed.
        KeyError: when called for a value that is missing, if `strict`.
        ValueError: when called for a value of a group that is missing, if `strict`.
        TypeError: when called, the shapes differ.

    Example:
        >>> import h5py
        >>> chainer.serializers.save_hdf5("arrays.h5", {"W": np.array([[1, 2]])})
        >>> layer = L.Linear(2, 1)
        >>> with h5py.File("arrays.h5") as file:
        ...     chainer.serializers.HDF5Deserializer(file, strict=False).load(layer)
        >>> layer.W.array, layer.b.array
        (array([[1., 2.]], dtype=float32), array([0.], dtype=float32))

    Source: `chainer.serializers.HDF5Deserializer` of Chainer 7.8.1.
    """

    def __init__(self, group: Any, strict: bool = True) -> None:
        _h5py()
        self.group = group
        self.strict = strict

    def __getitem__(self, key):
        # h5py resolves a key that begins with a slash from the root
        full = f"{self.group.name}/{key}" if self.group is not None and key[:1] == "/" else key
        group = None if self.group is None else self.group.get(full)
        return HDF5Deserializer(group, strict=self.strict)

    def _where(self, dataset):
        return f"{dataset.name!r} in {self.group.file.filename!r}"

    def __call__(self, key: str, value: Any) -> Any:
        _loading.before()
        try:
            dataset = None if self.group is None else self.group[key]
        except (KeyError, OSError, RuntimeError) as e:
            if key in self.group:  # the dataset exists, but is damaged
                raise ValueError(f"{key!r} in {self.group.file.filename!r} cannot be read: {e}") from e
            dataset = None
        if dataset is None:
            if not self.strict:
                return value
            if self.group is None:
                raise ValueError(f"Inexistent group is specified: there is no group that could contain {key!r}")
            raise KeyError(f"{key!r} is not in group {self.group.name!r} of {self.group.file.filename!r}")
        if not isinstance(dataset, _h5py().Dataset):
            raise TypeError(f"{self._where(dataset)}: expected a dataset, found a group")
        shape = dataset.shape
        if shape is None:
            return None
        try:
            hdf5.check(key, dataset)
        except ValueError:
            hdf5.check(self._where(dataset), dataset)  # names the file, which takes as long as the check
        if isinstance(value, (bool, int, float, complex, str)) and dataset.size != 1:
            raise TypeError(f"{self._where(dataset)}: expected one value, found an array of shape {shape}")
        if isinstance(value, (numpy.ndarray, cuda.ndarray)):
            _loading.before(value)
        try:
            if value is None:
                return numpy.asarray(dataset)
            if isinstance(value, numpy.ndarray):
                if value.flags.c_contiguous:
                    dataset.read_direct(value)
                else:
                    value[...] = dataset[...]
                return value
            if isinstance(value, cuda.ndarray):
                value.set(numpy.asarray(dataset, dtype=value.dtype))
                return value
            return dataset.asstr()[()] if isinstance(value, str) else type(value)(numpy.asarray(dataset))
        except (OSError, TypeError, ValueError) as e:
            shapes = f"; shapes {shape} and {value.shape}" if isinstance(value, numpy.ndarray) else ""
            raise type(e)(f"{self._where(dataset)}: {e}{shapes}") from e


def load_hdf5(filename: str, obj: Any) -> None:
    """Loads an HDF5 file into an object.

    Args:
        filename: name of the file.
        obj: an object with a method `serialize(serializer)`, whose values are replaced.

    Raises:
        RuntimeError: h5py is not installed.
        FileNotFoundError: there is no such file.
        OSError: the file is no HDF5 file, or is damaged.
        KeyError: a value is missing.

    Example:
        >>> chainer.serializers.save_hdf5("layer.h5", L.Linear(2, 1, initialW=3))
        >>> layer = L.Linear(2, 1)
        >>> chainer.serializers.load_hdf5("layer.h5", layer)
        >>> layer.W.array
        array([[3., 3.]], dtype=float32)

    Source: `chainer.serializers.load_hdf5` of Chainer 7.8.1.
    """
    _h5py()
    with hdf5.opening(filename) as f, naming(filename, RecursionError), naming(filename, to=TypeError):
        HDF5Deserializer(f).load(obj)
