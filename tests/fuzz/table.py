"""The table of readers, and the modules that they read by."""

import importlib

import numpy as np

READERS = {}
_PEER = False


def use(peer):
    global _PEER
    _PEER = peer
    if peer:
        np.bool = bool  # MXNet 1.9.1 was made for older NumPys


def peer():
    return _PEER


def lib(name):
    return importlib.import_module(name if _PEER else f"compatgrad.{name}")


def reader(name, file):
    return lambda make: READERS.setdefault(name, (file, make)) and make


def plain(array):
    array = np.asarray(array)
    return repr(array[()]) if array.dtype.hasobject else (array.shape, array.dtype.str, array.tobytes())
