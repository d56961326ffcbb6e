"""Round trips through the serializers."""

import os

from compatgrad.chainer import serializers, utils


def save_and_load(src, dst, filename, saver, loader):
    """Save with ``saver(path, src)`` and load with ``loader(path, dst)``, in a temporary directory."""
    with utils.tempdir() as folder:
        path = os.path.join(folder, filename)
        saver(path, src)
        loader(path, dst)


def save_and_load_npz(src, dst):
    """Copy `src` to `dst` through an npz file."""
    save_and_load(src, dst, "tmp.npz", serializers.save_npz, serializers.load_npz)


def save_and_load_hdf5(src, dst):
    """Copy `src` to `dst` through an HDF5 file. Needs h5py."""
    save_and_load(src, dst, "tmp.h5", serializers.save_hdf5, serializers.load_hdf5)
