"""Data iterators, schedules, monitors, images, files and communicators."""

import csv
import io
import json
import logging
import os
import pathlib
import threading
import time

import numpy as np
import pytest
import torch

import compatgrad.nnabla as nn
from compatgrad.nnabla import communicators, monitor
from compatgrad.nnabla.config import nnabla_config
from compatgrad.nnabla.utils import data_iterator as U
from compatgrad.nnabla.utils import data_source_loader, dlpack, download, progress
from compatgrad.nnabla.utils.create_cache import CreateCache
from compatgrad.nnabla.utils.data_source import DataSource, DataSourceWithFileCache
from compatgrad.nnabla.utils.data_source_implements import CacheDataSource, CsvDataSource, SimpleDataSource
from compatgrad.nnabla.utils.learning_rate_scheduler import (
    CosineScheduler,
    ExponentialScheduler,
    LinearWarmupScheduler,
    PolynomialScheduler,
    StepScheduler,
)
from tests.golden import nnabla_solvers

RECORDED = json.loads(nnabla_solvers.GOLDEN.read_text())["iterators"]


def test_batches_of_the_real_iterators(tmp_path, monkeypatch):
    monkeypatch.setattr(U, "DataSource", DataSource, raising=False)
    ours = nnabla_solvers.iterate_all(nnabla_config, U, tmp_path)
    for case, mine, real in zip(nnabla_solvers.ITERATORS, ours, RECORDED, strict=True):
        assert mine == real, case


def test_iterator_reads_ahead_in_one_thread():
    threads = set()

    def load(i):
        threads.add(threading.get_ident())
        time.sleep(0.01)
        return (np.array(i),)

    with U.data_iterator_simple(load, 8, 4) as made:
        next(made)
        time.sleep(0.2)
        begun = time.perf_counter()
        np.testing.assert_array_equal(made.next()[0], [4, 5, 6, 7])
        assert time.perf_counter() - begun < 0.03
    assert len(threads) == 2  # a source created from a function loads example 0 in the calling thread


@pytest.mark.parametrize("use_thread", [True, False])
def test_errors_of_a_source_reach_the_program(use_thread):
    def load(i):
        if i == 3:
            raise KeyError("three")
        return (np.array(i),)

    with U.data_iterator_simple(load, 8, 2, use_thread=use_thread) as made:
        made.next()
        with pytest.raises(KeyError, match="three"):
            made.next()


def test_slices_share_epochs_and_do_not_overlap():
    made = U.data_iterator_simple(lambda i: (np.array(i),), 10, 1, shuffle=True)
    parts = [made.slice(None, 3, i) for i in range(3)]
    assert [part.size for part in parts] == [4, 4, 4]
    first = [[int(part.next()[0][0]) for _ in range(4)] for part in parts]
    assert len(set(first[0] + first[1])) == 8
    assert sorted(set(sum(first, []))) == list(range(10))
    dropped = [made.slice(None, 3, i, drop_last=True) for i in range(3)]
    assert [part.size for part in dropped] == [3, 3, 3]
    ranged = made.slice(None, slice_start=2, slice_end=4)
    assert ranged.size == 2
    assert made.slice(None, num_of_slices=3) is None
    assert made.slice(None, 3, 1, slice_start=2, slice_end=4) is None
    for it in (*parts, *dropped, ranged, made):
        it.close()


@pytest.fixture
def data_csv(tmp_path):
    for i in range(7):
        np.save(tmp_path / f"{i}.npy", np.full((2, 3), 51 * (i % 6), np.uint8))
    path = tmp_path / "data.csv"
    rows = "".join(f"{i}.npy,n,{i},{i + 0.5}\n" for i in range(7))
    path.write_text("x,#note,y__0:first,y__1:second\n" + rows)
    return str(path)


def test_csv_source(data_csv):
    source = CsvDataSource(data_csv)
    assert source.variables == ("x", "y") and source.size == 7
    x, y = source.next()
    assert x.shape == (2, 3) and y == [0, 0.5]
    pathlib.Path(data_csv).write_text("x\n1.nosuch\n")
    pathlib.Path(data_csv).with_name("1.nosuch").write_text("")
    with pytest.raises(ValueError, match="no loader for '.nosuch'"):
        CsvDataSource(data_csv).next()


@pytest.mark.parametrize("extension", [".npy", ".h5"])
def test_cache_files(data_csv, tmp_path, extension, monkeypatch):
    if extension == ".h5":
        pytest.importorskip("h5py")
    for key, value in (("cache_file_format", extension), ("data_source_file_cache_size", "3")):
        monkeypatch.setitem(nnabla_config["DATA_ITERATOR"], key, value)
    folder = tmp_path / "cache"
    folder.mkdir()
    CreateCache(data_csv, shuffle=True, num_of_threads=2).create(str(folder))
    names = [f"cache_{a:08d}_{b:08d}{extension}" for a, b in ((0, 2), (3, 5), (6, 6))]
    rows = list(csv.reader(open(folder / "cache_index.csv")))
    assert rows == [[name, n] for name, n in zip(names, "331", strict=True)]
    assert (folder / "original.csv").read_text() == pathlib.Path(data_csv).read_text()
    order = [int(row[1]) for row in csv.reader(open(folder / "order.csv"))]
    assert sorted(order) == list(range(7)) != order
    source = CacheDataSource(str(folder), normalize=True)
    labels = []
    for _ in range(7):
        example = dict(zip(source.variables, source.next(), strict=True))
        labels.append(int(example["y"][0]))
        assert example["x"].dtype == np.float32
        np.testing.assert_allclose(example["x"], 0.2 * (labels[-1] % 6), rtol=1e-6)
    assert labels == order
    source.close()
    with U.data_iterator_cache(str(folder), 7, shuffle=True, with_memory_cache=False) as made:
        epochs = [made.next()[source.variables.index("y")][:, 0].tolist() for _ in range(2)]
    assert epochs[0] != epochs[1] and sorted(epochs[0]) == sorted(epochs[1]) == list(range(7))


def test_a_temporary_cache_is_removed():
    cached = DataSourceWithFileCache(SimpleDataSource(lambda i: (np.zeros(i * 0 + 2),), 3))
    folder = cached._cache_dir
    assert os.listdir(folder)
    cached.close()
    assert not os.path.exists(folder)
    with pytest.raises(ValueError, match="the examples of 'x0' differ in shape"):
        DataSourceWithFileCache(SimpleDataSource(lambda i: (np.zeros(i),), 3))


def test_schedulers():
    np.testing.assert_allclose([PolynomialScheduler(2.0, 10, 2).get_learning_rate(i) for i in (0, 5, 10)], [2, 0.5, 0])
    np.testing.assert_allclose(
        [CosineScheduler(2.0, 10).get_learning_rate(i) for i in (0, 5, 10)], [2, 1, 0], atol=1e-12
    )
    np.testing.assert_allclose(
        [ExponentialScheduler(2.0, 0.5, 3).get_learning_rate(i) for i in (0, 2, 3, 6)], [2, 2, 1, 0.5]
    )
    steps = StepScheduler(2.0, 0.5, [2, 4])
    np.testing.assert_allclose([steps.get_learning_rate(i) for i in (1, 2, 3, 4)], [2, 1, 1, 0.5])
    warm = LinearWarmupScheduler(steps, 2)
    np.testing.assert_allclose([warm.get_learning_rate(i) for i in (0, 1, 2)], [1, 2, 1])


def test_series_and_times(tmp_path):
    m = monitor.Monitor(str(tmp_path / "new"))
    series = monitor.MonitorSeries("my loss", m, interval=2)
    times = monitor.MonitorTimeElapsed("time", m, interval=2)
    for i in range(5):
        series.add(i, i * 10)
        times.add(i)
    assert (tmp_path / "new" / "my-loss.series.txt").read_text() == "1 5\n3 25\n"
    rows = [line.split() for line in (tmp_path / "new" / "time.timer.txt").read_text().splitlines()]
    assert [(row[0], row[2]) for row in rows] == [("1", "2"), ("3", "2")]
    assert float(rows[1][1]) <= float(rows[1][3])


def test_a_series_in_the_log_has_all_digits_of_its_mean(caplog):
    caplog.set_level("INFO", "nnabla")
    logger = logging.getLogger("nnabla")
    before, logger.propagate = logger.propagate, True
    try:
        monitor.MonitorSeries("loss", interval=1).add(0, np.float32(1.1))
    finally:
        logger.propagate = before
    assert caplog.messages == ["iter=0 {loss}=1.100000023841858"]  # nnabla 1.39.0's


def test_tiles():
    tiles = monitor.tile_images(np.arange(1.0, 13).reshape(3, 1, 2, 2), padval=-1)
    expected = [
        [1, 2, -1, 5, 6, -1],
        [3, 4, -1, 7, 8, -1],
        [-1] * 6,
        [9, 10, -1, -1, -1, -1],
        [11, 12, -1, -1, -1, -1],
        [-1] * 6,
    ]
    np.testing.assert_array_equal(tiles, expected)
    assert monitor.tile_images(np.zeros((5, 3, 2, 2))).shape == (9, 9, 3)


def test_image_monitors(tmp_path):
    pytest.importorskip("PIL")
    import compatgrad.nnabla.utils.image_utils as images

    m = monitor.Monitor(str(tmp_path))
    batch = nn.Variable.from_numpy_array(np.arange(24.0).reshape(3, 2, 2, 2))
    one = monitor.MonitorImage("x", m, interval=2, num_images=2)
    tile = monitor.MonitorImageTile("x", m, interval=2, num_images=2)
    for i in range(3):
        one.add(i, batch)
    assert sorted(os.listdir(tmp_path / "x")) == [f"00000{i}-00{j}.png" for i in (0, 1) for j in (0, 1)]
    read = images.imread(str(tmp_path / "x" / "000000-001.png"))
    expected = np.stack([batch.d[1, 0], batch.d[1, 1], np.full((2, 2), 15)], axis=2) / 15 * 255
    expected[..., 2] = 255
    np.testing.assert_array_equal(read, expected.astype(np.uint8))
    tile.add(0, batch.data)
    assert images.imread(str(tmp_path / "x" / "000000.png")).shape == (6, 6, 3)


def test_images(tmp_path):
    pytest.importorskip("PIL")
    import compatgrad.nnabla.utils.image_utils as images

    path = str(tmp_path / "a.png")
    img = np.random.RandomState(0).randint(0, 255, (4, 6, 3)).astype(np.uint8)
    images.imsave(path, img.transpose(2, 0, 1), channel_first=True)
    np.testing.assert_array_equal(images.imread(path), img)
    assert images.get_backend() == "PilBackend"
    with open(path, "rb") as file:
        assert images.imread(io.BytesIO(file.read()), size=(3, 2), channel_first=True).shape == (3, 2, 3)
    assert images.imread(path, grayscale=True, num_channels=3).shape == (4, 6, 3)
    np.testing.assert_array_equal(images.imread(path, num_channels=4)[..., 3], 255)
    assert images.imresize(img.astype(np.float64), (3, 2)).dtype == np.float32
    images.imsave(path, np.linspace(0, 1, 6).reshape(2, 3, 1))
    np.testing.assert_array_equal(images.imread(path), [[0, 51, 102], [153, 204, 255]])
    for bad, text in (
        ({"img": [[1]]}, "must be a numpy array, got list"),
        ({"img": np.ones((2, 2)) * 2}, r"floats must be in \[0, 1\]"),
        ({"img": np.ones((2, 2)), "auto_scale": False}, "needs auto_scale=True"),
        ({"img": np.ones((2, 2, 5))}, "1 to 4 channels, got 5"),
        ({"img": np.ones(2)}, r"2 or 3 axes, got shape \(2,\)"),
    ):
        with pytest.raises(ValueError, match=text):
            images.imsave(path, **bad)
    with pytest.raises(ValueError, match="needs grayscale=True"):
        images.imread(path, num_channels=1)


def test_downloads(tmp_path):
    (tmp_path / "source.txt").write_text("hello")
    url = (tmp_path / "source.txt").as_uri()
    target = tmp_path / "target.txt"
    with download.download(url, str(target)) as file:
        assert file.read() == b"hello"
    (tmp_path / "source.txt").write_text("again")
    assert download.download(url, str(target), open_file=False) is None
    assert target.read_text() == "hello"
    download.download(url, str(target), open_file=False, allow_overwrite=True)
    assert target.read_text() == "again"
    with pytest.raises(OSError):
        download.download(url + ".no", str(tmp_path / "other"))
    assert sorted(os.listdir(tmp_path)) == ["source.txt", "target.txt"]


def test_file_kinds(tmp_path):
    assert data_source_loader.get_file_extension("A.PNG") == ".png"
    assert data_source_loader.get_file_extension(io.BytesIO(b"\x89PNG\r\n\x1a\n...")) == ".png"
    assert data_source_loader.get_file_extension(io.BytesIO(b"text")) == ""
    reader = data_source_loader.ResourceFileReader(io.BytesIO(b"GIF89a"))
    with reader.open() as file:
        assert (file.ext, file.read()) == (".gif", b"GIF89a")
    with pytest.raises(ValueError, match="seekable binary file, got StringIO"):
        data_source_loader.ResourceFileReader(io.StringIO("x"))
    np.testing.assert_array_equal(data_source_loader.load_csv(io.BytesIO(b"1,2\n3,4\n"), (4,)), [1, 2, 3, 4])


def test_dlpack_shares_memory():
    t = torch.ones(3)
    a = dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(t))
    a.data[1] = 5
    assert t.tolist() == [1, 5, 1]
    capsule = dlpack.to_dlpack(a)
    given = nn.NdArray((2,))
    assert dlpack.from_dlpack(capsule, given) is given and given.shape == (3,)
    t[0] = 7
    assert given.data.tolist() == [7, 5, 1]
    with pytest.raises(ValueError, match="unused DLPack capsule"):
        dlpack.from_dlpack(capsule)
    assert dlpack.from_dlpack(dlpack.to_dlpack(a, np.int32)).dtype == np.int32
    with pytest.raises(TypeError, match="expected an NdArray, got Tensor"):
        dlpack.to_dlpack(t)


def test_progress(tmp_path, monkeypatch):
    for name in ("state_file_name", "state_callback", "last_state_datetime"):
        monkeypatch.setattr(progress, name, getattr(progress, name))
    seen = []
    progress.configure_progress(str(tmp_path / "state"), lambda *state: seen.append(state))
    assert (tmp_path / "state").read_text() == ""
    progress.last_state_datetime -= progress.timedelta(seconds=2)
    progress.progress("work", 0.25)
    assert (tmp_path / "state").read_text() == "work (25.00%)"
    assert seen == [(None, 0.0), ("work", 0.25)]


def test_one_process_is_a_group(monkeypatch):
    for name in ("OMPI_COMM_WORLD_SIZE", "WORLD_SIZE", "RANK", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    comm = communicators.MultiProcessDataParalellCommunicator(nn.Context())
    comm.init()
    x = nn.Variable.from_numpy_array(np.ones(2, np.float32))
    comm.all_reduce([x.data], division=True)
    comm.barrier()
    assert (comm.size, comm.rank, comm.local_rank, x.d.tolist()) == (1, 0, 0, [1, 1])
    assert comm.new_group(("one", [0])) == "one"
    assert comm.list_groups() == {"world": [0], "one": [0]}
    with pytest.raises(RuntimeError, match="no group 'two'"):
        comm.bcast(x.data, 0, group="two")
    with pytest.raises(RuntimeError, match="unknown ranks"):
        comm.new_group(("two", [0, 1]))
