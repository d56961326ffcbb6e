"""Writing files: the old file stays unchanged if the new one cannot be completed."""

import os
import stat

import numpy as np
import pytest

import compatgrad.chainer as chainer
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
from compatgrad.core.files import beside, replacing
from compatgrad.nnabla import parametric_functions as PF
from compatgrad.nnabla.utils import save as nnp


def test_a_file_appears_only_when_it_is_complete(tmp_path):
    path = tmp_path / "a b ü.bin"
    with replacing(path) as file:
        file.write(b"one")
        assert not path.exists()
    assert path.read_bytes() == b"one" and os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_old_file_survives_an_interrupted_write(tmp_path, error):
    path = tmp_path / "old"
    path.write_bytes(b"old")
    with pytest.raises(error), replacing(path) as file:
        file.write(b"half")
        raise error
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["old"]


def test_links_and_permissions_stay(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"old")
    real.chmod(0o640)
    link.symlink_to(real)
    with replacing(link, "w", encoding="utf-8") as file:
        file.write("new")
    assert link.is_symlink() and real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_errors_name_the_path_that_was_asked_for(tmp_path):
    (tmp_path / "folder").mkdir()
    for path, kind in ((tmp_path / "no" / "x", FileNotFoundError), (tmp_path / "folder", IsADirectoryError)):
        with pytest.raises(kind) as caught, replacing(path):
            raise AssertionError("not reached")
        assert caught.value.filename == str(path)


def test_devices_are_written_to():
    with beside("/dev/null") as name:
        assert name == "/dev/null"


class _Broken:
    """An array whose conversion to NumPy fails."""

    def __array__(self, *args, **kwargs):
        raise RuntimeError("this array cannot be read")

    shape, stype = (1,), "default"


def _h5(path):
    # fails: HDF5 needs "a" as a group
    nn.parameter.save_parameters(path, {"a": nn.Variable((2,)), "a/b": nn.Variable((2,))})


def _states(path):
    w = nn.Variable((2,), need_grad=True)
    solver = nn.solvers.Momentum()
    solver.set_parameters({"w": w, "w/t/x": w})
    w.g = 1
    solver.update()
    solver.save_states(path)


@pytest.mark.parametrize(
    "save, name",
    [
        (_h5, "x.h5"),
        (_states, "x.h5"),
        (lambda path: chainer.serializers.save_npz(path, {"a": _Broken()}), "x.npz"),
        (lambda path: chainer.serializers.save_hdf5(path, {"a": np.zeros(2), "b": object()}), "x.h5"),
    ],
)
def test_failing_savers_leave_the_old_file(tmp_path, save, name):
    path = tmp_path / name
    path.write_bytes(b"old")
    with pytest.raises(Exception):  # noqa: B017 - each format has its own
        save(str(path))
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == [name]


def test_savers_write_where_names_are_not_plain(tmp_path):
    folder = tmp_path / "mit Leerzeichen ü"
    folder.mkdir()
    mx.nd.save(str(folder / "x.params"), {"a": mx.nd.ones((2,))})
    assert mx.nd.load(str(folder / "x.params"))["a"].asnumpy().tolist() == [1, 1]
    with nn.parameter_scope("", {}):
        x = nn.Variable((1, 2))
        y = PF.affine(x, 2)
        contents = {"networks": [{"name": "n", "batch_size": 1, "outputs": {"y": y}, "names": {"x": x}}]}
        nnp.save(str(folder / "x.nnp"), contents)
        nn.parameter.save_parameters(str(folder / "x.h5"))
        nn.parameter.load_parameters(str(folder / "x.nnp"))
    chainer.serializers.save_npz(str(folder / "x.npz"), {"a": np.ones(2)})
    assert sorted(os.listdir(folder)) == ["x.h5", "x.nnp", "x.npz", "x.params"]
