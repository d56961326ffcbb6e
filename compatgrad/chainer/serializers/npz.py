"""Saving to and loading from NPZ archives. Mirrors ``chainer.serializers.npz``.

A parameter without a value is stored as an object array of None; `load_npz` refuses every other object unless it is
told ``allow_pickle=True``.
"""

import numpy

from compatgrad.chainer import serializer
from compatgrad.chainer.backends import _cpu, cuda
from compatgrad.core.files import replacing
from compatgrad.formats.npz import Archive


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
    with Archive(file, allow_pickle) as npz:
        NpzDeserializer(npz, path=path, strict=strict, ignore_names=ignore_names).load(obj)
