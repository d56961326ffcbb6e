"""Saving to and loading from NPZ archives. Mirrors ``chainer.serializers.npz``.

A parameter without a value is stored as an object array of None, which NumPy pickles. `load_npz` recognises
that without unpickling and refuses every other pickle unless it is told ``allow_pickle=True``.
"""

import collections.abc
import io
import os
import pickle
import zipfile
import zlib

import numpy

from compatgrad.chainer import serializer
from compatgrad.chainer.backends import _cpu, cuda
from compatgrad.core.files import replacing


class DictionarySerializer(serializer.Serializer):
    """Saves into `target`, a flat dictionary of arrays that ``numpy.savez`` takes; keys are paths that
    start at `path`.
    """

    def __init__(self, target=None, path=""):
        self.target = {} if target is None else target
        self.path = path

    def __getitem__(self, key):
        return DictionarySerializer(self.target, f"{self.path}{key.strip('/')}/")

    def __call__(self, key, value):
        self.target[self.path + key.lstrip("/")] = numpy.asarray(None) if value is None else _cpu._to_cpu(value)
        return value


def serialize(obj):
    """The flat dictionary of arrays that `obj` serializes to."""
    s = DictionarySerializer()
    s.save(obj)
    return s.target


def save_npz(file, obj, compression=True):
    """Saves `obj`, what has ``serialize`` or a dictionary of arrays, to `file`, a name or a binary file."""
    if isinstance(file, str):
        with replacing(file) as f:
            save_npz(f, obj, compression)
        return
    save = numpy.savez_compressed if compression else numpy.savez
    save(file, **(obj if isinstance(obj, dict) else serialize(obj)))


class NpzDeserializer(serializer.Deserializer):
    """Loads from `npz`, a mapping of paths to arrays, below `path`.

    A value that is missing raises KeyError if `strict`, otherwise it is left as it is. So are values that
    `ignore_names` tells: a name, a function of the name, or a list of such; anything else raises ValueError.
    """

    def __init__(self, npz, path="", strict=True, ignore_names=None):
        self.npz = npz
        self.path = path
        self.strict = strict
        self.ignore_names = [] if ignore_names is None else ignore_names

    def __getitem__(self, key):
        path = f"{self.path}{key.strip('/')}/"
        return NpzDeserializer(self.npz, path, strict=self.strict, ignore_names=self.ignore_names)

    def __call__(self, key, value):
        key = self.path + key.lstrip("/")
        if not self.strict and key not in self.npz or self._ignores(key):
            return value
        saved = self.npz[key]
        if saved[()] is None:
            return None
        if value is None:
            return saved
        if isinstance(value, numpy.ndarray):
            try:
                numpy.copyto(value, saved)
            except (TypeError, ValueError) as e:
                raise type(e)(f"{key!r} in {getattr(self.npz, 'name', 'the archive')}: {e}") from e
            return value
        if isinstance(value, cuda.ndarray):
            value.set(numpy.asarray(saved, dtype=value.dtype))
            return value
        return _convert(numpy.asarray(saved), type(value))

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
    # Any integer fits into an int, whatever numpy.can_cast says of the platform's integer.
    lossless = saved.dtype.kind in "iu" and kind is int or numpy.can_cast(saved.dtype, kind, casting="safe")
    if issubclass(saved.dtype.type, numpy.number) and not lossless:
        raise TypeError(
            f"Cannot safely deserialize from numpy array with dtype={saved.dtype} into a variable of type {kind}."
        )
    return kind(saved)


def load_npz(file, obj, path="", strict=True, ignore_names=None, *, allow_pickle=False):
    """Loads `file`, a name or a binary file, into `obj`; the other arguments are those of `NpzDeserializer`.

    Raises FileNotFoundError, ``zipfile.BadZipFile`` for what is no archive or is damaged, ValueError for
    pickled objects unless `allow_pickle`: unpickling runs code that the file contains.
    """
    with _open(file, allow_pickle) as npz:
        NpzDeserializer(_Archive(npz, _name(file)), path=path, strict=strict, ignore_names=ignore_names).load(obj)


def _name(file):
    return repr(getattr(file, "name", file))


def _open(file, allow_pickle):
    if isinstance(file, (str, os.PathLike)):
        with open(file, "rb") as f:
            signature = f.read(4)
    else:
        signature = file.read(4)
        file.seek(-len(signature), os.SEEK_CUR)
    # numpy.load takes whatever is no archive for a pickle, and would advise to allow that.
    if signature not in (b"PK\x03\x04", b"PK\x05\x06"):
        raise zipfile.BadZipFile(f"{_name(file)} is not an npz archive")
    try:
        return numpy.load(file, allow_pickle=allow_pickle)
    except zipfile.BadZipFile as e:
        raise zipfile.BadZipFile(f"{_name(file)} is truncated or damaged: {e}") from e


class _Archive(collections.abc.Mapping):
    """The arrays of an open archive; errors tell which file and which entry."""

    def __init__(self, npz, name):
        self._npz = npz
        self.name = name
        self.files = npz.files

    def __iter__(self):
        return iter(self.files)

    def __len__(self):
        return len(self.files)

    def __contains__(self, key):
        return key in self._npz

    def __getitem__(self, key):
        try:
            return self._npz[key]
        except KeyError:
            raise KeyError(f"{key!r} is not in {self.name}") from None
        except (zipfile.BadZipFile, zlib.error, EOFError) as e:
            raise zipfile.BadZipFile(f"{key!r} in {self.name} is truncated or damaged: {e}") from e
        except ValueError as e:
            payload = self._pickled(key)
            if payload is None:
                raise ValueError(f"{key!r} in {self.name} cannot be read: {e}") from e
            if not _is_pickled_none(payload):
                raise ValueError(
                    f"{key!r} in {self.name} is a pickled object: load_npz(..., allow_pickle=True) "
                    "loads it, and runs code that the file contains"
                ) from None
            return numpy.asarray(None)

    def _pickled(self, key):
        """The pickle of an entry, or None if it holds something else."""
        name = key if key in self._npz.zip.namelist() else key + ".npy"
        with self._npz.zip.open(name) as f:
            if numpy.lib.format.read_magic(f) != (1, 0):  # the format of every header that is short and ASCII
                return None
            _, _, dtype = numpy.lib.format.read_array_header_1_0(f)
            return f.read() if dtype.hasobject else None


class _Part:
    """Stands for whatever a pickle makes, and does nothing."""

    state = None

    def __init__(self, *args):
        pass

    def __setstate__(self, state):
        self.state = state


class _Inspector(pickle.Unpickler):
    """Unpickles the structure alone: nothing that the pickle names is imported or called."""

    def find_class(self, module, name):
        return _Part


def _is_pickled_none(payload):
    try:
        array = _Inspector(io.BytesIO(payload)).load()
    except Exception:  # a damaged pickle fails in any way
        return False
    # The state of an array: version, shape, dtype, order, elements.
    state = getattr(array, "state", None)
    return isinstance(state, tuple) and len(state) == 5 and state[1] == () and state[4] == [None]
