"""Saving to and loading from HDF5 files, by h5py. Mirrors ``chainer.serializers.hdf5``."""

import importlib.util

import numpy

from compatgrad.chainer import serializer
from compatgrad.chainer.backends import _cpu, cuda
from compatgrad.core.files import beside
from compatgrad.formats import hdf5


def _h5py():
    try:
        return hdf5.h5py()
    except ImportError as e:
        raise RuntimeError("h5py is not installed on your environment: pip install h5py") from e


def __getattr__(name):
    if name == "_available":
        return importlib.util.find_spec("h5py") is not None
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _create_dataset(group, key, array, compression):
    # HDF5 does not compress what is not stored in chunks, such as scalars.
    group.create_dataset(key, data=array, compression=None if array.size <= 1 else compression)


class HDF5Serializer(serializer.Serializer):
    """Saves into `group`, an ``h5py.Group``; children are groups in it. `compression` is a level of gzip.

    Raises RuntimeError without h5py.
    """

    def __init__(self, group, compression=4):
        _h5py()
        self.group = group
        self.compression = compression

    def __getitem__(self, key):
        return HDF5Serializer(self.group.require_group(f"{self.group.name}/{key}"), self.compression)

    def __call__(self, key, value):
        if value is None:
            self.group.create_dataset(key, data=_h5py().Empty("f"))
        else:
            _create_dataset(self.group, key, _cpu._to_cpu(value), self.compression)
        return value


def save_hdf5(filename, obj, compression=4):
    """Saves `obj`, what has ``serialize`` or a dictionary of arrays, to the file of that name.

    Raises RuntimeError without h5py, TypeError for what HDF5 cannot hold.
    """
    with beside(filename) as name, _h5py().File(name, "w") as f:
        if not isinstance(obj, dict):
            HDF5Serializer(f, compression=compression).save(obj)
            return
        for key, value in obj.items():
            try:
                _create_dataset(f, "/" + key.lstrip("/"), numpy.asarray(value), compression)
            except TypeError as e:
                raise TypeError(f"HDF5 cannot hold the value of {key!r}: {e}") from e


class HDF5Deserializer(serializer.Deserializer):
    """Loads from `group`, an ``h5py.Group``, or None for a group that is missing.

    A value that is missing raises (KeyError; ValueError in a group that is missing) if `strict`, otherwise
    it is left as it is. Raises RuntimeError without h5py.
    """

    def __init__(self, group, strict=True):
        _h5py()
        self.group = group
        self.strict = strict

    def __getitem__(self, key):
        # By the full name: a key may begin with a slash, which h5py takes for the root.
        group = None if self.group is None else self.group.get(f"{self.group.name}/{key}")
        return HDF5Deserializer(group, strict=self.strict)

    def __call__(self, key, value):
        if self.group is None or key not in self.group:
            if not self.strict:
                return value
            if self.group is None:
                raise ValueError(f"Inexistent group is specified, where {key!r} should be")
            raise KeyError(f"{key!r} is not in group {self.group.name!r} of {self.group.file.filename!r}")
        dataset = self.group[key]
        if dataset.shape is None:
            return None
        if value is None:
            return numpy.asarray(dataset)
        if isinstance(value, numpy.ndarray):
            try:
                if value.flags.c_contiguous:
                    dataset.read_direct(value)
                else:
                    value[...] = dataset[...]
            except (TypeError, ValueError) as e:
                raise type(e)(
                    f"{dataset.name!r} in {self.group.file.filename!r}: {e}; shapes {dataset.shape} and {value.shape}"
                ) from e
            return value
        if isinstance(value, cuda.ndarray):
            value.set(numpy.asarray(dataset, dtype=value.dtype))
            return value
        return dataset.asstr()[()] if isinstance(value, str) else type(value)(numpy.asarray(dataset))


def load_hdf5(filename, obj):
    """Loads the file of that name into `obj`. Raises RuntimeError without h5py, OSError if it is damaged."""
    with _h5py().File(filename, "r") as f:
        HDF5Deserializer(f).load(obj)
