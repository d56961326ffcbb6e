"""Datasets, converters and the cache of downloads."""

import gzip
import importlib
import io
import os
import pickle
import struct
import subprocess
import sys
import tarfile

import numpy as np
import pytest

from tests.chainer.subject import ORIGINAL, chainer, f32

D, dataset = chainer.datasets, chainer.dataset
convert, download, image_dataset = (
    importlib.import_module(f"{chainer.__name__}.{name}")
    for name in ("dataset.convert", "dataset.download", "datasets.image_dataset")
)
tabular = importlib.import_module(f"{chainer.__name__}.dataset.tabular")
ours_only = pytest.mark.skipif(ORIGINAL, reason="the original fails here")


@pytest.fixture
def root(tmp_path):
    old = dataset.get_dataset_root()
    dataset.set_dataset_root(str(tmp_path / "root"))
    yield tmp_path / "root"
    dataset.set_dataset_root(old)


# indexing


class Squares(dataset.DatasetMixin):
    def __len__(self):
        return 6

    def get_example(self, i):
        return i * i


def test_indexing():
    squares = Squares()
    assert squares[3] == 9 and squares[1:5:2] == [1, 9] and squares[::-2] == [25, 9, 1]
    assert squares[[4, 0]] == [16, 0] and squares[np.arange(3)] == [0, 1, 4]
    with pytest.raises(NotImplementedError):
        dataset.DatasetMixin()[0]


def test_tuple_and_dict():
    x, y = np.arange(6).reshape(3, 2), ["a", "b", "c"]
    pairs, named = D.TupleDataset(x, y), D.DictDataset(x=x, y=y)
    assert len(pairs) == len(named) == 3
    assert pairs[1][1] == "b" and (pairs[1][0] == [2, 3]).all() and named[-1]["y"] == "c"
    assert [label for _, label in pairs[1:]] == ["b", "c"] and [d["y"] for d in named[:2]] == ["a", "b"]
    with pytest.raises(ValueError, match="index 1"):
        D.TupleDataset(x, [1])
    with pytest.raises(ValueError, match='"y"'):
        D.DictDataset(x=x, y=[1])
    for empty in (D.TupleDataset, D.DictDataset):
        with pytest.raises(ValueError):
            empty()


def test_concatenated_and_transformed():
    both = D.ConcatenatedDataset([1, 2], (), [3])
    assert len(both) == 3 and both[:] == [1, 2, 3]
    for i in (-1, 3):
        with pytest.raises(IndexError):
            both[i]
    assert D.TransformDataset(both, str)[1:] == ["2", "3"]


def test_sub_dataset():
    sub = D.SubDataset("abcdef", 1, 4, order=[5, 4, 3, 2, 1, 0])
    assert len(sub) == 3 and sub[:] == ["e", "d", "c"] and sub[-1] == "c" and sub[-3] == "e"
    for i in (3, -4):
        with pytest.raises(IndexError):
            sub[i]
    for args in (("ab", -1, 1), ("ab", 0, 3), ("ab", 0, 1, [0])):
        with pytest.raises(ValueError):
            D.SubDataset(*args)


def test_splits():
    first, second = D.split_dataset("abc", np.int64(2))
    assert first[:] == ["a", "b"] and second[:] == ["c"]
    for error, at in ((TypeError, 1.0), (ValueError, -1), (ValueError, 4)):
        with pytest.raises(error):
            D.split_dataset("abc", at)
    assert [s[:] for s in D.split_dataset_n("abcde", 2)] == [["a", "b"], ["c", "d"]]
    # the order comes from NumPy's generator
    order = np.random.RandomState(3).permutation(10)
    first, second = D.split_dataset_random(range(10), 4, seed=3)
    assert first[:] + second[:] == list(order)
    assert [i for s in D.split_dataset_n_random(range(10), 3, seed=3) for i in s[:]] == list(order[:9])


def test_cross_validation():
    splits = D.get_cross_validation_datasets(range(7), 3)
    tests = [test[:] for _, test in splits]
    assert tests == [[4, 5, 6], [2, 3], [0, 1]]
    assert all(sorted(train[:] + test[:]) == list(range(7)) for train, test in splits)
    with pytest.warns(DeprecationWarning, match="n_fold"):
        assert len(D.get_cross_validation_datasets(range(7), n_fold=2)) == 2
    drawn = [test[:] for _, test in D.get_cross_validation_datasets_random(range(7), 3, seed=1)]
    order = np.random.RandomState(1).permutation(7)
    assert drawn == [[order[i] for i in test] for test in tests]


# converters


def test_concat_examples():
    batch = [(f32([1, 2]), 0), (f32([3, 4]), 1)]
    x, y = dataset.concat_examples(batch, -1)
    assert x.dtype == np.float32 and (x == [[1, 2], [3, 4]]).all() and (y == [0, 1]).all() and y.dtype == int
    d = dataset.concat_examples([{"a": 1.5}, {"a": 2.5}], device="@numpy")
    assert list(d) == ["a"] and (d["a"] == [1.5, 2.5]).all()
    assert dataset.concat_examples([np.int8(3)]).dtype == np.int8
    with pytest.raises(ValueError, match="empty"):
        dataset.concat_examples([])
    with pytest.raises(ValueError):
        dataset.concat_examples([f32([1]), f32([1, 2])])
    copied = dataset.concat_examples([batch[0][0]])
    copied[...] = 0
    assert (batch[0][0] == [1, 2]).all()


def test_concat_examples_with_padding():
    batch = [(f32([1, 2]), [1]), (f32([3]), [2])]
    x, y = dataset.concat_examples(batch, padding=(-1, 0))
    assert (x == [[1, 2], [3, -1]]).all() and x.dtype == np.float32 and (y == [[1], [2]]).all()
    a = dataset.concat_examples([np.ones((1, 3)), np.ones((2, 1))], padding=7)
    assert (a == [[[1, 1, 1], [7, 7, 7]], [[1, 7, 7], [1, 7, 7]]]).all()
    d = dataset.concat_examples([{"a": f32([1]), "b": 1}], padding={"a": 0, "b": None})
    assert d["a"].shape == (1, 1)


def test_converters():
    @dataset.converter()
    def new(batch, device):
        return device

    assert isinstance(new, dataset.Converter)
    cpu = chainer.get_device("@numpy")
    assert new([], -1) == cpu and new([], device="@numpy") == cpu and new([], None) is None
    assert convert._call_converter(new, [], cpu) == cpu

    def old(batch, device):
        return device

    assert convert._call_converter(old, [], cpu) == -1 and convert._call_converter(old, [], None) is None
    with pytest.raises(TypeError):
        dataset.converter()(3)
    assert pickle.loads(pickle.dumps(dataset.concat_examples))([1]) == [1]
    x = f32([1])
    assert dataset.to_device(None, x) is x and dataset.to_device(-1, x) is x


def test_async_transfer_on_the_cpu():
    converter = dataset.ConcatWithAsyncTransfer()
    for _ in range(2):
        x, y = converter([(f32([1]), 2), (f32([3]), 4)])
        assert (x == [[1], [3]]).all() and (y == [2, 4]).all()
    assert converter([{"a": 1}])["a"] == [1]
    with pytest.raises(ValueError, match="device"):
        converter([(1,)], -1)


# the cache, and the datasets in it


def test_cache_or_load_file(root):
    path = str(root / "a")
    made = []

    def creator(temp_path):
        assert not os.path.exists(path) and temp_path != path
        with open(temp_path, "w") as f:
            f.write("text")
        made.append(temp_path)
        return "made"

    root.mkdir()
    assert dataset.cache_or_load_file(path, creator, None) == "made"
    assert dataset.cache_or_load_file(path, creator, lambda p: open(p).read()) == "text" and len(made) == 1
    assert not os.path.exists(made[0])


def test_cache_when_creation_fails(root):
    root.mkdir()

    def creator(temp_path):
        open(temp_path, "w").close()
        raise KeyError

    with pytest.raises(KeyError):
        dataset.cache_or_load_file(str(root / "a"), creator, None)
    assert not (root / "a").exists()


def test_bad_roots(root):
    root.write_text("no folder")
    with pytest.raises(RuntimeError, match="directory"):
        dataset.cache_or_load_file(str(root) + ".a", None, None)
    with pytest.raises(OSError):
        dataset.cached_download("http://localhost/a")
    with pytest.raises(OSError):
        dataset.get_dataset_directory("a/b")


def test_cached_download(root, tmp_path):
    source = tmp_path / "source"
    source.write_text("text")
    url = source.as_uri()
    path = dataset.cached_download(url)
    assert open(path).read() == "text"
    source.unlink()
    assert dataset.cached_download(url) == path
    assert set(os.listdir(root / "_dl_cache")) - {"_dl_lock"} == {os.path.basename(path)}


@ours_only
def test_failed_download_names_url_and_cache(root):
    url = (root / "missing").as_uri()
    with pytest.raises(OSError) as e:
        dataset.cached_download(url)
    assert url in str(e.value) and str(root / "_dl_cache") in str(e.value)
    assert os.listdir(root / "_dl_cache") == []


def serve(monkeypatch, files):
    """Replaces downloads by the contents whose key is the end of the URL."""

    def urlretrieve(url, path):
        with open(path, "wb") as f:
            f.write(next(data for name, data in files.items() if url.endswith(name)))

    target = download.request if ORIGINAL else download.urllib.request
    monkeypatch.setattr(target, "urlretrieve", urlretrieve)


def idx(array):
    header = struct.pack(f">{1 + array.ndim}i", 0x800 + array.ndim, *array.shape)
    return gzip.compress(header + array.tobytes())


@pytest.mark.parametrize("get", [D.get_mnist, D.get_fashion_mnist, D.get_kuzushiji_mnist])
def test_mnist(root, monkeypatch, get):
    rng = np.random.RandomState(0)
    x, y = rng.randint(0, 256, (5, 28, 28), np.uint8), np.arange(5, dtype=np.uint8)
    serve(
        monkeypatch,
        {
            "train-images-idx3-ubyte.gz": idx(x),
            "train-labels-idx1-ubyte.gz": idx(y),
            "t10k-images-idx3-ubyte.gz": idx(x[:2]),
            "t10k-labels-idx1-ubyte.gz": idx(y[:2]),
        },
    )
    train, test = get()
    assert len(train) == 5 and len(test) == 2
    image, label = train[3]
    assert image.dtype == np.float32 and label.dtype == np.int32 and label == 3
    np.testing.assert_array_equal(image, x[3].ravel().astype("f") * np.float32(1 / 255.0))

    serve(monkeypatch, {})  # served from the cache
    assert get(withlabel=False, ndim=2, scale=255.0)[0].shape == (5, 28, 28)
    assert get(withlabel=False, ndim=3)[0].shape == (5, 1, 28, 28)
    rgb = get(withlabel=False, ndim=3, rgb_format=True, dtype=np.float64)[1]
    assert rgb.shape == (2, 3, 28, 28) and rgb.dtype == np.float64 and (rgb[:, 0] == rgb[:, 2]).all()
    assert get(label_dtype=np.int64)[0][0][1].dtype == np.int64
    with pytest.raises(ValueError, match="ndim"):
        get(ndim=4)


def test_mnist_files_that_do_not_match(root, monkeypatch):
    serve(
        monkeypatch,
        {
            "images-idx3-ubyte.gz": idx(np.zeros((2, 28, 28), np.uint8)),
            "labels-idx1-ubyte.gz": idx(np.zeros(3, np.uint8)),
        },
    )
    with pytest.raises(RuntimeError, match="wrong pair"):
        D.get_mnist()


def test_cifar(root, monkeypatch):
    rng = np.random.RandomState(0)
    size = 10000 if ORIGINAL else 10  # examples per file; the original accepts no other number
    data = np.zeros((size, 3072), np.uint8)
    data[:10] = rng.randint(0, 256, (10, 3072))
    labels = (np.arange(size) % 10).tolist()

    def archive(files):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w:gz", compresslevel=0) as tar:
            for name, content in files.items():
                member = tarfile.TarInfo(name)
                payload = pickle.dumps(content)
                member.size = len(payload)
                tar.addfile(member, io.BytesIO(payload))
        return out.getvalue()

    names = [f"cifar-10-batches-py/{n}" for n in ["test_batch", *(f"data_batch_{i}" for i in range(1, 6))]]
    serve(
        monkeypatch,
        {
            "cifar-10-python.tar.gz": archive({n: {"data": data, "labels": labels} for n in names}),
            "cifar-100-python.tar.gz": archive(
                {
                    f"cifar-100-python/{n}": {"data": data[:k], "fine_labels": labels[:k]}
                    for n, k in (("train", 4), ("test", 2))
                }
            ),
        },
    )
    train, test = D.get_cifar10()
    assert len(train) == 5 * size and len(test) == size
    image, label = train[size + 3]
    assert image.shape == (3, 32, 32) and image.dtype == np.float32 and label == 3 and label.dtype == np.int32
    np.testing.assert_array_equal(image.ravel(), data[3].astype("f") * np.float32(1 / 255.0))
    train, test = D.get_cifar100(withlabel=False, ndim=1)
    assert train.shape == (4, 3072) and test.shape == (2, 3072)
    with pytest.raises(ValueError, match="ndim"):
        D.get_cifar100(ndim=2)


def test_svhn(root, monkeypatch):
    scipy_io = pytest.importorskip("scipy.io")
    x = np.random.RandomState(0).randint(0, 256, (32, 32, 3, 4)).astype(np.uint8)
    out = io.BytesIO()
    scipy_io.savemat(out, {"X": x, "y": np.array([[1], [10], [3], [10]], np.uint8)})
    serve(monkeypatch, {"_32x32.mat": out.getvalue()})
    train, test, extra = D.get_svhn(add_extra=True, scale=255.0)
    assert [int(label) for _, label in train] == [1, 0, 3, 0] and len(test) == len(extra) == 4
    np.testing.assert_allclose(train[2][0], x[..., 2].transpose(2, 0, 1), rtol=1e-6)
    assert D.get_svhn(withlabel=False)[1].shape == (4, 3, 32, 32)


def test_ptb(root, monkeypatch):
    serve(monkeypatch, {"train.txt": b" a b a \n c\n", "valid.txt": b" c a\n", "test.txt": b"b\n"})
    train, valid, test = D.get_ptb_words()
    assert train.dtype == np.int32
    assert [w.tolist() for w in (train, valid, test)] == [[0, 1, 0, 2, 3, 2], [3, 0, 2], [1, 2]]
    serve(monkeypatch, {})
    assert D.get_ptb_words_vocabulary() == {"a": 0, "b": 1, "<eos>": 2, "c": 3}
    assert D.get_ptb_words()[0].tolist() == train.tolist()


def test_a_pickle_in_the_cache_is_not_loaded(root):
    folder = root / "pfnet" / "chainer" / "mnist"
    folder.mkdir(parents=True)
    np.savez(folder / "train.npz", x=np.array([{}], dtype=object), y=np.zeros(1))
    with pytest.raises(ValueError, match="allow_pickle"):
        D.get_mnist()


# files


def test_text_dataset(tmp_path):
    paths = [str(tmp_path / name) for name in "ab"]
    with open(paths[0], "w", encoding="utf-8") as f:
        f.write("eins\nzwölf\n\ndrei")
    with open(paths[1], "w", encoding="latin-1") as f:
        f.write("1\nü\n\n3")
    one = D.TextDataset(paths[0], encoding="utf-8")
    assert one[:] == ["eins\n", "zwölf\n", "\n", "drei"] and one[1] == "zwölf\n"
    both = D.TextDataset(paths, encoding=["utf-8", "latin-1"], filter_func=lambda a, b: b != "\n")
    assert both[:] == [("eins\n", "1\n"), ("zwölf\n", "ü\n"), ("drei", "3")]
    assert pickle.loads(pickle.dumps(both))[1] == ("zwölf\n", "ü\n")
    for i in (-1, 3):
        with pytest.raises(IndexError):
            both[i]
    both.close()
    with pytest.raises(ValueError):
        both[0]
    with open(paths[1], "a") as f:
        f.write("\n4")
    for args in (([],), (paths,), (paths, ["utf-8"])):
        with pytest.raises(ValueError):
            D.TextDataset(*args)


def test_pickle_dataset(tmp_path):
    path = str(tmp_path / "a")
    with D.open_pickle_dataset_writer(path) as writer:
        for x in (1, "two", [3]):
            writer.write(x)
        writer.flush()
    with D.open_pickle_dataset(path) as data:
        assert data[:] == [1, "two", [3]] and data[2] == [3]
        copied = pickle.loads(pickle.dumps(data))
    assert copied[1] == "two"
    with pytest.raises(ValueError):
        data[0]

    class Pipe(io.BytesIO):
        def seekable(self):
            return False

    with pytest.raises(ValueError, match="random access"):
        D.PickleDataset(Pipe())


def test_pickle_dataset_after_fork(tmp_path):
    path = str(tmp_path / "a")
    with D.open_pickle_dataset_writer(path) as writer:
        for i in range(100):
            writer.write(i)
    with D.open_pickle_dataset(path) as data:
        it = chainer.iterators.MultiprocessIterator(data, 10, shuffle=False, repeat=False, n_processes=2)
        assert [i for batch in it for i in batch] == list(range(100))
        it.finalize()
        assert data[5] == 5


def test_image_datasets(tmp_path):
    Image = pytest.importorskip("PIL.Image")
    grey, colour = np.arange(6, dtype=np.uint8).reshape(2, 3), np.arange(18, dtype=np.uint8).reshape(2, 3, 3)
    for name, array in (("g.png", grey), ("c.png", colour)):
        Image.fromarray(array).save(tmp_path / name)
    (tmp_path / "list").write_text("g.png\nc.png\n")
    (tmp_path / "labels").write_text("c.png 3\ng.png 4\n")
    images = D.ImageDataset(str(tmp_path / "list"), root=str(tmp_path))
    assert len(images) == 2 and images[0].dtype == np.float32
    np.testing.assert_array_equal(images[0], grey[None])
    np.testing.assert_array_equal(images[1], colour.transpose(2, 0, 1))
    labelled = D.LabeledImageDataset(str(tmp_path / "labels"), root=str(tmp_path), dtype=np.uint8)
    assert labelled[1][0].dtype == np.uint8 and [int(label) for _, label in labelled] == [3, 4]
    (tmp_path / "bad").write_text("c.png\n")
    with pytest.raises(ValueError, match="line 0"):
        D.LabeledImageDataset(str(tmp_path / "bad"))

    zipfile = importlib.import_module("zipfile")
    archive = str(tmp_path / "a.zip")
    with zipfile.ZipFile(archive, "w") as z:
        for name in ("g.png", "c.png"):
            z.write(tmp_path / name, name)
    zipped = pickle.loads(pickle.dumps(D.ZippedImageDataset(archive)))
    np.testing.assert_array_equal(zipped[1], images[1])
    several = D.MultiZippedImageDataset([archive, archive])
    assert len(several) == 4
    np.testing.assert_array_equal(several[2], images[0])
    image, label = D.LabeledZippedImageDataset(archive, str(tmp_path / "labels"))[1]
    assert label == 4
    np.testing.assert_array_equal(image, images[0])


@ours_only
@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "LA", "1", "I", "F", "P"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.uint8, np.int32])
def test_images_have_their_channels_first(tmp_path, mode, dtype):
    Image = pytest.importorskip("PIL.Image")
    pixels = np.random.RandomState(0).randint(0, 256, (5, 7, 3)).astype(np.uint8)
    Image.fromarray(pixels).convert(mode).save(tmp_path / "a.tiff")
    image = chainer.datasets.ImageDataset(["a.tiff"], str(tmp_path), dtype)[0]
    with Image.open(tmp_path / "a.tiff") as file:
        expected = np.asarray(file, dtype)
    expected = expected[None] if expected.ndim == 2 else expected.transpose(2, 0, 1)
    assert image.dtype == dtype and image.shape == expected.shape
    np.testing.assert_array_equal(image, expected)
    if not ORIGINAL:
        assert image.flags.c_contiguous  # arithmetic with channels is slow otherwise


def test_image_datasets_without_pillow():
    code = (
        f"import sys; sys.modules['PIL'] = None; import {chainer.__name__} as chainer\n"
        "try: chainer.datasets.ZippedImageDataset('a')\n"
        "except ImportError as e: print(e)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "Install Pillow" in run.stdout, run.stderr


# tables


def make_table():
    return tabular.from_data((("a", np.arange(5)), ("b", list("vwxyz")), ("c", lambda i: i * i)))


def test_tabular_views():
    table = make_table()
    assert len(table) == 5 and table.keys == ("a", "b", "c") and table[2] == (2, "x", 4)
    assert table.asdict()[1] == {"a": 1, "b": "w", "c": 1}
    part = table.slice[[3, -5], ("c", 0)]
    assert part.keys == ("c", "a") and list(part) == [(9, 3), (0, 0)]
    assert table.slice[1:, "b"][0] == "w" and table.slice[1:, "b"].mode is None
    assert list(table.slice[::-2].slice[1:, "a"]) == [2, 0]
    assert list(table.slice[[True, False, True, False, True], "a"].slice[[2, 0]]) == [4, 0]
    columns = table.fetch()
    assert isinstance(columns, tuple) and columns[2] == [0, 1, 4, 9, 16]
    assert table.convert(columns)[2].tolist() == [0, 1, 4, 9, 16]
    assert table.with_converter(lambda a, b, c: "".join(b)).convert(columns) == "vwxyz"
    for error, index in (
        (IndexError, [5]),
        (ValueError, [True]),
        (KeyError, (slice(None), "d")),
        (IndexError, (slice(None), 3)),
    ):
        with pytest.raises(error):
            table.slice[index]


def test_tabular_concat_and_join():
    table = make_table()
    twice = table.concat(table.slice[:2])
    assert len(twice) == 7 and [x[0] for x in twice] == [0, 1, 2, 3, 4, 0, 1]
    for index in (slice(None), slice(5, None, -2), slice(6, 3, -1), slice(1, 6, 3), [6, 0, 4], []):
        expected = np.array([0, 1, 2, 3, 4, 0, 1])[index]
        assert list(twice.slice[index, "a"]) == expected.tolist()
    other = tabular.from_data({"d": [1] * 5, ("e", "f"): lambda i: (i, -i)}, size=5)
    joined = table.join(other)
    assert joined.keys == ("a", "b", "c", "d", "e", "f") and joined[3] == (3, "y", 9, 1, 3, -3)
    assert joined.slice[2:3, ("f", "a", "f")][0] == (-2, 2, -2)
    for wrong in (lambda: table.concat(other), lambda: table.join(table), lambda: table.join(other.slice[:2])):
        with pytest.raises(ValueError):
            wrong()


def test_tabular_transform():
    table = make_table()
    sums = table.transform("s", lambda a, b, c: a + c)
    assert sums.mode is None and list(sums) == [0, 2, 6, 12, 20]
    named = table.asdict().transform(("s", "t"), lambda a, b, c: {"s": a, "t": b})
    assert named.mode is dict and named.slice[:, "t"][4] == "z"
    batch = table.transform_batch(("a", "n"), lambda a, b, c: (a, [str(x) for x in c]))
    assert batch.mode is tuple and batch[3] == (3, "9")
    changing = table.transform("s", lambda a, b, c: a if a else (a,))
    with pytest.raises(ValueError, match="return type"):
        changing.fetch()
    with pytest.raises(ValueError, match="length"):
        table.transform_batch("s", lambda a, b, c: [1]).fetch()


def test_tabular_from_data_errors():
    for error, make in (
        (ValueError, lambda: tabular.from_data(len)),
        (ValueError, lambda: tabular.from_data(("a", len))),
    ):
        with pytest.raises(error):
            make()
