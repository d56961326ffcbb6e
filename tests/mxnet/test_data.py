"""Datasets, samplers, loaders, iterators and record files; numbers of MXNet 1.9.1 are in mxnet_data.npz."""

import gzip
import multiprocessing.pool
import os
import pickle
import struct
import time

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import MXNetError, gluon, nd
from compatgrad.mxnet.gluon import data
from compatgrad.mxnet.gluon.data import batchify
from tests.golden import mxnet_data as golden

NUMBERS = np.load(golden.GOLDEN)


@pytest.mark.parametrize("part", golden.PARTS)
def test_numbers_are_the_originals(part):
    expected = {key[len(part) + 1 :]: NUMBERS[key] for key in NUMBERS.files if key.startswith(part + "/")}
    found = golden.PARTS[part](mx)
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert found[key].shape == value.shape and found[key].dtype == value.dtype, key
        np.testing.assert_allclose(found[key], value, rtol=1e-5, atol=1e-3, err_msg=key)


# ---- datasets and samplers ------------------------------------------------------------------------------------------
def test_samplers():
    assert list(data.SequentialSampler(3, 2)) == [2, 3, 4]
    np.random.seed(0)
    order = list(data.RandomSampler(10))
    assert sorted(order) == list(range(10)) and order == [2, 8, 4, 9, 1, 6, 7, 3, 0, 5]
    for last, batches, length in (("keep", [[0, 1, 2], [3, 4, 5], [6]], 3), ("discard", [[0, 1, 2], [3, 4, 5]], 2)):
        sampler = data.BatchSampler(data.SequentialSampler(7), 3, last)
        assert list(sampler) == batches and len(sampler) == length
    sampler = data.BatchSampler(data.SequentialSampler(7), 3, "rollover")
    assert [list(sampler) for _ in range(2)] == [[[0, 1, 2], [3, 4, 5]], [[6, 0, 1], [2, 3, 4]]]
    with pytest.raises(ValueError, match="last_batch must be"):
        list(data.BatchSampler(data.SequentialSampler(7), 3, "other"))
    assert list(gluon.contrib.data.IntervalSampler(7, 3)) == [0, 3, 6, 1, 4, 2, 5]
    assert list(gluon.contrib.data.IntervalSampler(7, 3, rollover=False)) == [0, 3, 6]


def test_datasets():
    numbers = data.SimpleDataset(list(range(10)))
    assert list(numbers.filter(lambda x: x % 3 == 0)) == [0, 3, 6, 9]
    assert [list(numbers.shard(3, i)) for i in range(3)] == [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert list(numbers.take(3)) == [0, 1, 2] and len(numbers.take(None)) == 10
    assert list(numbers.sample(data.SequentialSampler(2, 5))) == [5, 6]
    assert list(numbers.transform(lambda x: -x).take(3)) == [0, -1, -2]
    calls = []
    lazy = numbers.transform(lambda x: calls.append(x) or x, lazy=True)
    assert not calls and lazy[3] == 3 and calls == [3]
    numbers.transform(calls.append, lazy=False)
    assert len(calls) == 11
    x, t = nd.arange(12).reshape((4, 3)), nd.arange(4)
    pairs = data.ArrayDataset(x, t)
    assert len(pairs) == 4 and isinstance(pairs[1][1], np.float32) and pairs[1][0].shape == (3,)
    first, label = pairs.transform_first(lambda a: a * 2)[2]
    np.testing.assert_array_equal(first.asnumpy(), [12, 14, 16])
    assert label == 2
    assert pairs.transform(lambda a, b: float(b))[3] == 3
    pickle.loads(pickle.dumps(pairs.transform_first(abs)))
    with pytest.raises(AssertionError, match="array 1 has length 3"):
        data.ArrayDataset(x, [1, 2, 3])
    with pytest.raises(TypeError, match="expected a gluon.data.Sampler"):
        numbers.sample([1, 2])
    with pytest.raises(AssertionError, match="index must be"):
        numbers.shard(2, 2)


def test_batchify():
    a, b, c = np.array([[1, 2, 3, 4], [11, 12, 13, 14]]), np.array([[4, 5, 6]]), np.array([[9, 10]])
    padded = batchify.Pad(val=-1)([a, b, c])
    np.testing.assert_array_equal(padded[1].asnumpy(), [[4, 5, 6, -1], [-1, -1, -1, -1]])
    assert padded.shape == (3, 2, 4) and padded.dtype == a.dtype
    assert batchify.Pad(round_to=8, dtype="float32")([[1, 2, 3], [4]]).shape == (2, 8)
    words, labels, texts = batchify.Group(batchify.Pad(), batchify.Stack(), batchify.AsList())(
        [([1, 2], 0, "a"), ([3], 1, "b")]
    )
    assert words.shape == (2, 2) and labels.asnumpy().tolist() == [0, 1] and texts == ["a", "b"]
    assert [x.shape for x in batchify.Append()([[1, 2], [3]])] == [(1, 2), (1, 1)]
    with pytest.raises(AssertionError, match="3 elements"):
        batchify.Group(batchify.Stack(), batchify.Stack())([(1, 2, 3)])


# ---- DataLoader -----------------------------------------------------------------------------------------------------
class Squares(data.Dataset):
    def __init__(self, n, fails_at=None, dies_at=None, size=3):
        self.n, self.fails_at, self.dies_at, self.size = n, fails_at, dies_at, size

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if i == self.fails_at:
            raise KeyError(f"sample {i} is broken")
        if i == self.dies_at:
            os._exit(3)
        return nd.full((self.size,), int(i)), np.float32(i * i), (int(i), nd.array([int(i)], dtype="int32"))


@pytest.mark.parametrize("how", [{}, {"num_workers": 2}, {"num_workers": 2, "thread_pool": True}], ids=str)
def test_loader(how):
    loader = data.DataLoader(Squares(7), batch_size=3, **how)
    assert len(loader) == 3
    for _ in range(2):
        batches = list(loader)
        x, squares, (i, array) = batches[1]
        assert [b[0].shape for b in batches] == [(3, 3), (3, 3), (1, 3)]
        np.testing.assert_array_equal(x.asnumpy()[:, 0], [3, 4, 5])
        np.testing.assert_array_equal(squares.asnumpy(), [9, 16, 25])
        assert squares.dtype == np.float32 and array.dtype == np.int32 and array.shape == (3, 1)
        np.testing.assert_array_equal(i.asnumpy(), [3, 4, 5])


def test_large_batches_come_through_shared_memory():
    batches = list(data.DataLoader(Squares(4, size=300_000), batch_size=2, num_workers=2, prefetch=1))
    assert [b[0].asnumpy()[:, -1].tolist() for b in batches] == [[0, 1], [2, 3]]
    batches[0][0][:] = 5  # this process may write to the shared memory
    assert (batches[0][0].asnumpy() == 5).all()


def test_loader_orders_and_functions():
    np.random.seed(0)
    loader = data.DataLoader(list(range(10)), 4, shuffle=True, last_batch="discard")
    seen = [x.asnumpy().tolist() for x in loader]
    assert len(seen) == 2 and [x.asnumpy().tolist() for x in loader] != seen
    loader = data.DataLoader([1, 2, 3], batch_sampler=[[0, 1], [2]], batchify_fn=lambda samples: samples)
    assert list(loader) == [[1, 2], [3]]
    loader = data.DataLoader(nd.arange(6).reshape((3, 2)), 2, auto_reload=True, pin_memory=True)
    assert [x.shape for x in loader] == [(2, 2), (1, 2)] == [x.shape for x in loader]
    for wrong in ({}, {"batch_size": 2, "shuffle": True, "sampler": [0]}, {"batch_size": 2, "batch_sampler": [[0]]}):
        with pytest.raises(ValueError, match="DataLoader"):
            data.DataLoader([1, 2], **wrong)


@pytest.mark.parametrize("threads", [False, True])
def test_errors_in_workers_are_raised_here(threads):
    loader = data.DataLoader(Squares(6, fails_at=4), 2, num_workers=2, thread_pool=threads)
    batches = iter(loader)
    assert next(batches)[0].shape == (2, 3)
    with pytest.raises(KeyError, match="sample 4 is broken"):
        list(batches)


def test_a_worker_that_dies_is_an_error():
    start = time.monotonic()
    with pytest.raises(RuntimeError, match="ended with exit code 3"):
        list(data.DataLoader(Squares(6, dies_at=2), 2, num_workers=1))
    assert time.monotonic() - start < 30


def test_a_slow_worker_is_an_error():
    def slow(samples):
        time.sleep(3)

    with pytest.raises(RuntimeError, match="no batch from a worker thread for 0.1 seconds"):
        list(data.DataLoader([1, 2], 2, batchify_fn=slow, num_workers=1, thread_pool=True, timeout=0.1))


class TaggedIter(data.dataloader._MultiWorkerIter):
    """A program's loader that sends batches to the workers itself, to choose a transformation for each batch."""

    def _push_next(self):
        samples = next(self._iter, None)
        if samples is not None:
            job = samples, self._sent_idx
            self._data_buffer[self._sent_idx] = self._worker_pool.apply_async(self._worker_fn, job)
            self._sent_idx += 1


def test_a_subclass_of_the_workers_iterator_sends_batches_itself():
    with multiprocessing.pool.ThreadPool(2) as pool:
        batches = TaggedIter(
            pool, list, [[0, 1], [2], [3]], worker_fn=lambda samples, tag: pickle.dumps((samples, tag)), prefetch=2
        )
        assert list(batches) == [([0, 1], 0), ([2], 1), ([3], 2)]
    assert batches._rcvd_idx == batches._sent_idx == 3 and not batches._data_buffer


class Draws(data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        time.sleep(0.01)
        return np.random.rand(), nd.random.uniform().asscalar()


def test_workers_draw_different_numbers():
    ours, theirs = next(iter(data.DataLoader(Draws(), 8)))
    batches = list(data.DataLoader(Draws(), 1, num_workers=2))
    for i in (0, 1):
        assert len({b[i].asscalar() for b in batches}) == 8


# ---- files ----------------------------------------------------------------------------------------------------------
def write_idx(path, array):
    with gzip.open(path, "wb") as f:
        f.write(struct.pack(f">I{array.ndim}I", 0x800 + array.ndim, *array.shape) + array.tobytes())


@pytest.mark.filterwarnings("ignore:.*SHA-1:UserWarning")
def test_mnist_and_cifar(tmp_path, monkeypatch):
    rng = np.random.RandomState(0)
    images, labels = rng.randint(0, 256, (5, 28, 28), "uint8"), np.arange(5, dtype="uint8")
    for part in ("train", "t10k"):
        write_idx(tmp_path / f"{part}-images-idx3-ubyte.gz", images)
        write_idx(tmp_path / f"{part}-labels-idx1-ubyte.gz", labels)
    for kind in (data.vision.MNIST, data.vision.FashionMNIST):
        found = kind(root=str(tmp_path), train=False)
        image, label = found[3]
        assert len(found) == 5 and image.shape == (28, 28, 1) and image.dtype == np.uint8
        assert label == 3 and label.dtype == np.int32
        np.testing.assert_array_equal(image.asnumpy()[..., 0], images[3])
    transform = data.vision.transforms.Compose(
        [data.vision.transforms.ToTensor(), data.vision.transforms.Normalize(0.13, 0.31)]
    )
    x, t = next(iter(data.DataLoader(found.transform_first(transform), 4)))
    assert x.shape == (4, 1, 28, 28) and x.dtype == np.float32 and t.dtype == np.int32
    np.testing.assert_allclose(x.asnumpy()[:, 0], (images[:4] / 255 - 0.13) / 0.31, rtol=1e-4, atol=1e-5)

    pixels = rng.randint(0, 256, (3, 3, 32, 32), "uint8")
    records = [bytes([i]) + p.tobytes() for i, p in enumerate(pixels)]
    (tmp_path / "test_batch.bin").write_bytes(b"".join(records))
    image, label = data.vision.CIFAR10(root=str(tmp_path), train=False, transform=lambda x, y: (x, y + 1))[2]
    np.testing.assert_array_equal(image.asnumpy(), pixels[2].transpose(1, 2, 0))
    assert label == 3
    (tmp_path / "test.bin").write_bytes(b"".join(bytes([9]) + r for r in records))
    assert data.vision.CIFAR100(root=str(tmp_path), train=False)[1][1] == 9
    assert data.vision.CIFAR100(root=str(tmp_path), train=False, fine_label=True)[1][1] == 1

    def no_network(*args, **kwargs):
        raise OSError("no network")

    monkeypatch.setattr(gluon.utils, "download", no_network)
    with pytest.raises(FileNotFoundError, match="train-images-idx3-ubyte.gz is not in .*empty"):
        data.vision.MNIST(root=str(tmp_path / "empty"))
    with pytest.raises(FileNotFoundError, match="cifar-10-binary.tar.gz is not in"):
        data.vision.CIFAR10(root=str(tmp_path))
    (tmp_path / "test_batch.bin").write_bytes(b"abc")
    with pytest.raises(ValueError, match="cut off"):
        data.vision.CIFAR10(root=str(tmp_path), train=False)


def test_mnist_iterator(tmp_path):
    images, labels = np.random.RandomState(0).randint(0, 256, (7, 28, 28), "uint8"), np.arange(7, dtype="uint8")
    write_idx(tmp_path / "i.gz", images)
    write_idx(tmp_path / "l.gz", labels)
    it = mx.io.MNISTIter(image=str(tmp_path / "i.gz"), label=str(tmp_path / "l.gz"), batch_size=3, shuffle=False)
    batches = list(it)
    assert [b.label[0].asnumpy().tolist() for b in batches] == [[0, 1, 2], [3, 4, 5]]
    np.testing.assert_allclose(batches[1].data[0].asnumpy()[:, 0], images[3:6] / 256, rtol=1e-6)
    with pytest.raises(MXNetError, match="cannot read"):
        mx.io.MNISTIter(image="/nowhere", label="/nowhere")


def test_record_files(tmp_path):
    idx, rec = str(tmp_path / "a.idx"), str(tmp_path / "a.rec")
    (tmp_path / "a.idx").write_bytes(NUMBERS["records/.idx"].tobytes())
    (tmp_path / "a.rec").write_bytes(NUMBERS["records/.rec"].tobytes())
    reader = mx.recordio.MXIndexedRecordIO(idx, rec, "r")
    magic = b"\x0a\x23\xd7\xce"
    assert reader.keys == [10, 11, 12, 13, 14, 15, 7, 8]
    assert reader.read_idx(15) == b"abcd" + magic + magic + b"e" and reader.read_idx(10) == b""
    again = pickle.loads(pickle.dumps(reader))
    header, rest = mx.recordio.unpack(again.read_idx(8))
    assert rest == b"more" and header.label.tolist() == [1, 2] and header.id == 8 and header.id2 == 1
    assert mx.recordio.unpack(again.read_idx(7))[0] == mx.recordio.IRHeader(0, 3.5, 7, 0)
    records = data.RecordFileDataset(rec)
    assert len(records) == 8 and records[2] == b"abcde"
    batches = list(data.DataLoader(records, 4, num_workers=1, batchify_fn=list))
    assert batches[0][2] == b"abcde"
    with open(rec, "r+b") as f:
        f.truncate(40)
    plain = mx.recordio.MXRecordIO(rec, "r")
    with pytest.raises(MXNetError, match="corrupt"):
        while plain.read() is not None:
            pass
    with pytest.raises(AssertionError, match="open for reading"):
        plain.write(b"")
    with pytest.raises(ValueError, match="flag must be"):
        mx.recordio.MXRecordIO(rec, "x")
    with pytest.raises(MXNetError, match="cannot open"):
        mx.recordio.MXRecordIO("/nowhere/a", "r")


def test_array_iterator():
    it = mx.io.NDArrayIter({"a": np.zeros((5, 2))}, {"y": nd.zeros((5,))}, batch_size=2)
    assert str(it.provide_data) == "[DataDesc[a,(2, 2),<class 'numpy.float32'>,NCHW]]"
    assert it.provide_label[0].name == "y" and it.provide_label[0].shape == (2,)
    batch = next(it)
    assert str(batch) == "DataBatch: data shapes: [(2, 2)] label shapes: [(2,)]"
    assert [d.name for d in mx.io.NDArrayIter([np.zeros(2), np.zeros(2)]).provide_data] == ["_0_data", "_1_data"]
    assert mx.io.DataDesc.get_batch_axis("TNC") == 1 and mx.io.DataDesc.get_batch_axis(None) == 0
    with pytest.raises(TypeError, match="expected an NDArray"):
        mx.io.NDArrayIter("text")
    iters = [mx.io.NDArrayIter(np.arange(5), np.arange(5), 2) for _ in range(2)]
    renamed = [{"data": "a"}, {"data": "b"}], [{"softmax_label": "c"}, {"softmax_label": "d"}]
    both = mx.io.PrefetchingIter(iters, *renamed)
    assert [d.name for d in both.provide_data + both.provide_label] == ["a", "b", "c", "d"]
    for _ in range(2):
        found = list(both)
        assert [b.pad for b in found] == [0, 0, 1] and len(found[0].data) == 2
        both.reset()


def test_reports(caplog):
    class Metric:
        def get_name_value(self):
            return [("accuracy", 0.5)]

        def reset_local(self):
            pass

    class Param:
        epoch, nbatch, eval_metric = 1, 0, Metric()

    report = mx.callback.Speedometer(32, frequent=2)
    with caplog.at_level("INFO"):
        for Param.nbatch in range(5):
            report(Param)
        mx.callback.ProgressBar(10, 4)(Param)
        mx.callback.log_train_metric(2)(Param)
        mx.callback.LogValidationMetricsCallback()(Param)
    text = caplog.text
    assert "Epoch[1] Batch [2-4]\tSpeed:" in text and "accuracy=0.500000" in text and "[==--] 40%" in text
    assert "Iter[1] Batch[4] Train-accuracy=0.500000" in text and "Epoch[1] Validation-accuracy=0.500000" in text


def test_summary_of_a_symbol(capsys):
    data = mx.sym.var("data")
    net = mx.sym.FullyConnected(mx.sym.Convolution(data, kernel=(3, 3), num_filter=4, name="c"), num_hidden=5, name="f")
    mx.viz.print_summary(net, {"data": (2, 3, 8, 8)}, line_length=80)
    text = capsys.readouterr().out
    assert "c(Convolution)" in text and "4x6x6" in text and "Total params: 837" in text
    with pytest.raises(TypeError, match="must be a Symbol"):
        mx.viz.print_summary(nd.zeros((2,)))


def test_monitor():
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="f")
    run = net.simple_bind(mx.cpu(), data=(2, 4))
    run.arg_dict["f_weight"][:] = 2
    monitor = mx.mon.Monitor(2, pattern="f_weight", sort=True)
    monitor.install(run)
    found = []
    for _ in range(3):
        monitor.tic()
        run.forward()
        found.append(monitor.toc())
    assert [len(f) for f in found] == [1, 0, 1]
    assert found[0][0][:2] == (1, "f_weight") and float(found[0][0][2]) == 2


def test_a_monitor_shows_the_digits_of_single_precision():
    monitor = mx.mon.Monitor(1, stat_func=lambda x: x[:1])
    assert monitor._text(nd.array([1.1])) == "1.1\t"  # MXNet 1.9.1's


def test_rows_of_libsvm_files(tmp_path):
    """Batches, the samples that fill up the last one, and the next epoch, as recorded from MXNet 1.9.1."""
    data, labels = tmp_path / "data.txt", tmp_path / "labels.txt"
    data.write_text("1.0 0:0.5 2:1.2\n-2.0\n-3.0 2:1.2 0:0.6 1:2.4\n4 2:-1.2\n")
    labels.write_text("1 0:1.5\n2 1:2\n0 0:1 1:3\n4\n")
    rows = np.array([[0.5, 0, 1.2], [0, 0, 0], [0.6, 2.4, 1.2], [0, 0, -1.2]], np.float32)

    def batches(it):
        for batch in it:
            assert batch.data[0].stype == "csr"
            yield batch.data[0].asnumpy(), batch.label[0].asnumpy(), batch.pad

    it = mx.io.LibSVMIter(data_libsvm=str(data), data_shape=(3,), batch_size=3)
    assert it.provide_data[0].shape == (3, 3) and it.provide_label[0].shape == (3,)
    for epoch in ([([0, 1, 2], 0), ([3, 0, 1], 2)], [([2, 3, 0], 1)]):
        found = list(batches(it))
        assert len(found) == len(epoch)
        for (x, t, pad), (order, missing) in zip(found, epoch, strict=True):
            np.testing.assert_array_equal(x, rows[order])
            np.testing.assert_array_equal(t, np.array([1, -2, -3, 4], np.float32)[order])
            assert pad == missing
        it.reset()
    half = {"batch_size": 2, "num_parts": 2, "part_index": 1}
    it = mx.io.LibSVMIter(str(data), (3,), label_libsvm=str(labels), label_shape=(2,), **half)
    ((x, t, _),) = batches(it)
    np.testing.assert_array_equal(x, rows[2:])
    np.testing.assert_array_equal(t, [[1, 3], [0, 0]])


@pytest.mark.parametrize(
    "text, arguments, words",
    [
        ("1 3:1", {}, "line 1.*end before 3.*3"),
        ("1 0:1\n1 -1:1", {}, "line 2.*from 0"),
        ("1 x:1", {}, "line 1.*place:number"),
        ("1 0:1:2", {}, "line 1.*place:number"),
        ("1 99999999999999999999:1", {}, "line 1.*place:number"),
        ("1 0:1", {"num_parts": 2}, "no samples"),
        ("0:1", {}, "row 1 has no label"),
        ("", {}, "no samples"),
        ("1 0:1", {"round_batch": False}, "round_batch"),
        ("1 0:1", {"data_shape": (3, 1)}, "one axis"),
        ("1 0:1", {"data_libsvm": "/absent"}, "cannot read '/absent'"),
    ],
)
def test_libsvm_files_that_are_wrong(tmp_path, text, arguments, words):
    path = tmp_path / "data.txt"
    path.write_text(text)
    with pytest.raises(MXNetError, match=words):
        mx.io.LibSVMIter(**{"data_libsvm": str(path), "data_shape": (3,), **arguments})
