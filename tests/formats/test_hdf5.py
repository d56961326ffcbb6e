"""What needs h5py says so where it is missing."""

import os
import sys

import pytest

from compatgrad import nnabla as nn
from compatgrad.chainer import Link, serializers
from compatgrad.formats import hdf5
from compatgrad.nnabla.utils._file_readers import FileReader

USES = {
    "chainer-save": (RuntimeError, lambda name: serializers.save_hdf5(name, Link())),
    "chainer-load": (RuntimeError, lambda name: serializers.load_hdf5(name, Link())),
    "nnabla-save": (ImportError, nn.save_parameters),
    "nnabla-load": (ImportError, nn.load_parameters),
    "nnabla-states": (ImportError, lambda name: nn.solvers.Sgd().save_states(name)),
    "nnabla-cache": (ImportError, lambda name: FileReader(os.path.dirname(name)).open_cache("a.h5").__enter__()),
    "h5py": (ImportError, lambda name: hdf5.h5py()),
}


@pytest.mark.parametrize("use", USES)
def test_without_h5py(use, tmp_path, monkeypatch):
    import compatgrad.nnabla.solvers  # noqa: F401

    monkeypatch.setitem(sys.modules, "h5py", None)
    error, call = USES[use]
    with pytest.raises(error, match="pip install h5py"):
        call(str(tmp_path / "a.h5"))
    assert not (tmp_path / "a.h5").exists()


def test_datasets(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["b/c"], file["a"] = 1, 2
        assert [name for name, _ in hdf5.datasets(file)] == ["a", "b/c"]
