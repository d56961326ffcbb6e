"""Failed loads change nothing, and do not decompress arrays of a wrong shape."""

import io
import json
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

import compatgrad.chainer as chainer
from compatgrad.chainer import links as L
from compatgrad.chainer import optimizers, serializers, training


class _Net(chainer.Chain):
    def __init__(self, lazy=False):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(None if lazy else 3, 4)
            self.bn = L.BatchNormalization(4)
            self.l2 = L.Linear(4, 2)

    def forward(self, x):
        return self.l2(self.bn(self.l1(x)))


def _trainer(folder, lazy=False, steps=0):
    net = L.Classifier(_Net(lazy))
    optimizer = optimizers.Adam()
    optimizer.setup(net)
    data = chainer.datasets.TupleDataset(np.ones((6, 3), np.float32), np.arange(6) % 2)
    updater = training.StandardUpdater(chainer.iterators.SerialIterator(data, 2), optimizer)
    trainer = training.Trainer(updater, (100, "epoch"), out=str(folder))
    trainer.extend(training.extensions.LogReport(trigger=(1, "iteration")))
    trainer._start_at = 0.0
    for _ in range(steps):
        trainer.updater.update()
    return trainer


def _state(obj):
    """All values that `obj` serializes, as bytes."""
    found = {}
    for key, value in serializers.npz.serialize(obj).items():
        if key.endswith("elapsed_time"):
            continue
        array = np.asarray(value)
        found[key] = repr(array[()]) if array.dtype.hasobject else (array.shape, array.dtype.str, array.tobytes())
    return found


def _members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _npy(array):
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


DAMAGES = {
    "missing": lambda members, name: members.pop(name),
    "another shape": lambda members, name: members.update({name: _npy(np.zeros((7, 7, 7)))}),
    "no array": lambda members, name: members.update({name: b"none"}),
    "text": lambda members, name: members.update({name: _npy(np.array("text"))}),
}


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("how", DAMAGES)
def test_a_snapshot_that_is_damaged_anywhere_changes_nothing(tmp_path, how, lazy):
    source = _trainer(tmp_path, steps=2)
    serializers.save_npz(str(tmp_path / "whole"), source)
    members = _members(tmp_path / "whole")
    target = _trainer(tmp_path, lazy, steps=0 if lazy else 1)
    before, failed = _state(target), 0
    attributes = {key: dict(vars(link)) for key, link in target.updater.get_optimizer("main").target.namedlinks()}
    for name in members:
        damaged = dict(members)
        DAMAGES[how](damaged, name)
        with zipfile.ZipFile(tmp_path / "damaged", "w") as archive:
            for member, content in damaged.items():
                archive.writestr(member, content)
        try:
            serializers.load_npz(str(tmp_path / "damaged"), target)
        except (KeyError, ValueError, TypeError, zipfile.BadZipFile) as error:
            failed += 1
            assert name.removesuffix(".npy") in str(error) or "damaged" in str(error), (name, error)
            assert _state(target) == before, name
        else:  # optional values, and values of any shape: everything else was loaded
            target = _trainer(tmp_path, lazy, steps=0 if lazy else 1)
            before = _state(target)
            attributes = {k: dict(vars(link)) for k, link in target.updater.get_optimizer("main").target.namedlinks()}
    assert failed > len(members) // 2
    now = {key: dict(vars(link)) for key, link in target.updater.get_optimizer("main").target.namedlinks()}
    assert now == attributes
    if lazy:
        assert not target.updater.get_optimizer("main").target.predictor.l1.W.is_initialized
    serializers.load_npz(str(tmp_path / "whole"), target)
    saved, loaded = _state(source), _state(target)
    assert saved["updater/model:main/predictor/l2/W"] == loaded["updater/model:main/predictor/l2/W"]
    target.updater.update()


def test_hdf5_that_lacks_a_value_changes_nothing(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = str(tmp_path / "a.h5")
    for damage in ("predictor/l2/b", "predictor/bn/gamma"):
        serializers.save_hdf5(path, L.Classifier(_Net()))
        with h5py.File(path, "r+") as file:
            del file[damage]
            if damage.endswith("gamma"):
                file[damage] = np.zeros((3, 3))
        target = L.Classifier(_Net())
        before = _state(target)
        with pytest.raises((KeyError, TypeError, ValueError), match=damage.rpartition("/")[2]):
            serializers.load_hdf5(path, target)
        assert _state(target) == before


class _Counter:
    """A user-defined object whose `serialize` raises an exception halfway."""

    def __init__(self):
        self.seen, self.names, self.inner = 0, ["a"], _Net()

    def serialize(self, serializer):
        self.seen = serializer("seen", self.seen)
        self.names.append("b")
        self.inner.serialize(serializer["inner"])
        if isinstance(serializer, chainer.Deserializer):
            raise KeyboardInterrupt


def test_an_interrupt_in_a_user_defined_serialize_changes_nothing(tmp_path):
    source = _Counter()
    source.seen = 3
    serializers.save_npz(str(tmp_path / "a"), source)
    target = _Counter()
    before = _state(target.inner)
    with pytest.raises(KeyboardInterrupt):
        serializers.load_npz(str(tmp_path / "a"), target)
    assert target.seen == 0 and target.names == ["a"] and _state(target.inner) == before


def _peak(call):
    tracemalloc.start()
    try:
        with pytest.raises(ValueError) as caught:
            call()
        return tracemalloc.get_traced_memory()[1], str(caught.value)
    finally:
        tracemalloc.stop()


def test_arrays_are_compared_with_what_is_expected_before_they_are_unpacked(tmp_path):
    path = str(tmp_path / "bomb.npz")
    np.savez_compressed(path, W=np.zeros(1 << 24, np.float32), b=np.zeros(2, np.float32))
    peak, words = _peak(lambda: serializers.load_npz(path, L.Linear(2, 2)))
    assert peak < 1 << 20 and "'W'" in words and "(16777216,)" in words and "(2, 2)" in words


def test_a_pickle_with_a_huge_declared_size_is_refused(tmp_path):
    path = str(tmp_path / "memo.npz")
    header = b"{'descr': '|O', 'fortran_order': False, 'shape': (), }"
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    pickled = b"\x80\x04N" + b"r" + struct.pack("<I", 0x03FFFFFF) + b"."
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("W.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + pickled)
        archive.writestr("b.npy", _npy(np.zeros(2, np.float32)))
    peak, words = _peak(lambda: serializers.load_npz(path, L.Linear(2, 2)))
    assert peak < 1 << 20 and "'W'" in words and "pickled object" in words


def test_invalid_logs_are_refused(tmp_path):
    trainer = _trainer(tmp_path, steps=1)
    serializers.save_npz(str(tmp_path / "whole"), trainer)
    members = _members(tmp_path / "whole")
    (log,) = [name for name in members if name.endswith("_log.npy")]
    for text in ("[" * 5000, "{", json.dumps(3)):
        with zipfile.ZipFile(tmp_path / "bad", "w") as archive:
            for member, content in members.items():
                archive.writestr(member, _npy(np.array(text)) if member == log else content)
        before = _state(trainer)
        with pytest.raises(ValueError, match="bad"):
            serializers.load_npz(str(tmp_path / "bad"), trainer)
        assert _state(trainer) == before
