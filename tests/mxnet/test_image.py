"""Images: files, operators, transformations and iterators (numbers of the original: test_data.py)."""

import io

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import MXNetError, autograd, nd
from compatgrad.mxnet.gluon.data import DataLoader, vision
from compatgrad.mxnet.gluon.data.vision import transforms as T

Image = pytest.importorskip("PIL.Image")
RNG = np.random.RandomState(0)
PIXELS = RNG.randint(0, 256, (12, 9, 3)).astype("uint8")


def encoded(pixels, kind="PNG"):
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, kind)
    return out.getvalue()


def test_reading(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(encoded(PIXELS))
    x = mx.image.imread(str(path))
    assert x.dtype == np.uint8
    np.testing.assert_array_equal(x.asnumpy(), PIXELS)
    np.testing.assert_array_equal(mx.image.imread(str(path), to_rgb=False).asnumpy(), PIXELS[..., ::-1])
    grey = mx.image.imdecode(path.read_bytes(), flag=0)
    assert grey.shape == (12, 9, 1)
    np.testing.assert_allclose(grey.asnumpy()[..., 0], PIXELS @ [0.299, 0.587, 0.114], atol=1)
    data = nd.array(np.frombuffer(encoded(PIXELS[..., 0]), "uint8"), dtype="uint8")
    assert mx.image.imdecode(data).shape == (12, 9, 3)
    with pytest.raises(MXNetError, match="cannot read '/nowhere.png'"):
        mx.image.imread("/nowhere.png")
    with pytest.raises(MXNetError, match="not an image"):
        mx.image.imdecode(b"abc")
    with pytest.raises(MXNetError, match="empty"):
        mx.image.imdecode(b"")
    with pytest.raises(ValueError, match="buf must be bytes"):
        mx.image.imdecode("abc")
    with pytest.raises(MXNetError, match="imresize"):
        mx.image.imresize(x, 0, 2)
    with pytest.raises(MXNetError, match="interp must be 0 to 5, not -1"):
        mx.image.imresize(x, 2, 2, interp=-1)


def test_operators_are_differentiable():
    x = nd.array(PIXELS, dtype="float32")
    x.attach_grad()
    with autograd.record():
        y = nd.image.normalize(nd.image.to_tensor(nd.image.crop(x, 1, 2, 3, 4)), (0.1, 0.2, 0.3), (0.5, 1, 2))
        z = (nd.image.random_brightness(nd.image.flip_left_right(x), 2, 2) * 3).sum() + y.sum()
    z.backward()
    expected = np.full(PIXELS.shape, 6.0)
    expected[2:6, 1:4] += 1 / 255 / np.array([0.5, 1, 2])
    np.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=1e-5)


def test_operators_refuse_bad_input():
    x = nd.array(PIXELS, dtype="uint8")
    for call, words in (
        (lambda: nd.image.to_tensor(nd.ones((2, 2))), "height, width, channels"),
        (lambda: nd.image.normalize(x.astype("float32"), 0, 1), "1 or 3 channels"),
        (lambda: nd.image.normalize(nd.image.to_tensor(x), (0, 1), 1), "mean: expected 1 or 3 numbers"),
        (lambda: nd.image.crop(x, 5, 0, 5, 5), "beyond the width 9"),
        (lambda: nd.image.crop(x, 0, 9, 5, 5), "beyond the height 12"),
        (lambda: nd.image.resize(x, (1, 2, 3)), "size"),
        (lambda: nd.image.flip_left_right(nd.ones((1, 2, 2, 3))), "flip_left_right"),
        (lambda: nd.image.random_contrast(x, -1, 1), "min_factor"),
    ):
        with pytest.raises(MXNetError, match=words):
            call()


def test_saturation_and_hue():
    x = nd.array(PIXELS, dtype="float32")
    grey = np.repeat((PIXELS @ [0.299, 0.587, 0.114])[..., None], 3, 2)
    np.testing.assert_allclose(nd.image.random_saturation(x, 0, 0).asnumpy(), grey, rtol=1e-4)
    np.testing.assert_allclose(nd.image.random_saturation(x, 1.5, 1.5).asnumpy(), PIXELS * 1.5 - grey * 0.5, atol=1e-2)
    np.testing.assert_allclose(nd.image.random_hue(x, 1, 1).asnumpy(), PIXELS, atol=1e-2)


def test_random_transformations():
    mx.random.seed(3)
    x = nd.array(PIXELS, dtype="uint8")
    flips = sum((T.RandomFlipLeftRight()(x) != x).asnumpy().any() for _ in range(100))
    assert 30 < flips < 70
    for each in (T.RandomBrightness(0.5), T.RandomContrast(0.5), T.RandomSaturation(0.5), T.RandomHue(0.3),
                 T.RandomColorJitter(0.4, 0.4, 0.4, 0.1), T.RandomLighting(5.0)):  # fmt: skip
        found = {each(x).asnumpy().tobytes() for _ in range(5)}
        assert len(found) == 5 and each(x).dtype == np.uint8 and each(x).shape == x.shape
    mx.random.seed(5)
    first = T.RandomColorJitter(0.4, 0.4, 0.4, 0.1)(x).asnumpy()
    mx.random.seed(5)
    np.testing.assert_array_equal(T.RandomColorJitter(0.4, 0.4, 0.4, 0.1)(x).asnumpy(), first)
    grey = T.RandomGray(1.0)(x).asnumpy()
    assert (grey == grey[..., :1]).all()
    assert (T.RandomApply(T.Cast("float32"), 0.0)(x).asnumpy() == PIXELS).all()


def test_shapes_of_transformations():
    x = nd.array(PIXELS, dtype="uint8")
    for each, shape in (
        (T.Resize(6), (6, 6, 3)),
        (T.Resize((4, 5)), (5, 4, 3)),
        (T.Resize(18, keep_ratio=True), (24, 18, 3)),
        (T.CenterCrop(5), (5, 5, 3)),
        (T.CenterCrop((20, 30)), (30, 20, 3)),
        (T.CropResize(1, 2, 3, 4), (4, 3, 3)),
        (T.CropResize(1, 2, 3, 4, (7, 6)), (6, 7, 3)),
        (T.RandomResizedCrop((4, 5)), (5, 4, 3)),
        (T.RandomCrop(5, pad=2), (5, 5, 3)),
        (T.Compose([T.RandomCrop((4, 3)), T.ToTensor(), T.Cast("float16")]), (3, 3, 4)),
        (T.HybridCompose([T.ToTensor(), T.Normalize(0.5, 0.5)]), (3, 12, 9)),
    ):
        each.hybridize()
        assert each(x).shape == shape, each
    assert T.Rotate(30)(T.ToTensor()(x)).shape == (3, 12, 9)
    assert T.RandomRotation((-10, 10), zoom_in=True)(T.ToTensor()(x)).shape == (3, 12, 9)
    with pytest.raises(TypeError, match="float32"):
        T.Rotate(30)(x)
    with pytest.raises(ValueError, match="angle_limits"):
        T.RandomRotation((10, -10))
    with pytest.raises(ValueError, match="not a HybridBlock"):
        T.HybridCompose([T.CenterCrop(3)])


@pytest.fixture
def folder(tmp_path):
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
        for i in range(3):
            (tmp_path / name / f"{i}.png").write_bytes(encoded((PIXELS + 10 * i).astype("uint8")))
    (tmp_path / "dog" / "text.txt").write_text("no image")
    return tmp_path


@pytest.mark.filterwarnings("ignore:Ignoring")
def test_folders_and_lists(folder):
    found = vision.ImageFolderDataset(str(folder))
    assert found.synsets == ["cat", "dog"] and len(found) == 6 and found[4][1] == 1
    np.testing.assert_array_equal(found[4][0].asnumpy(), (PIXELS + 10).astype("uint8"))
    augmented = found.transform_first(T.Compose([T.Resize(8), T.ToTensor()]))
    x, t = next(iter(DataLoader(augmented, 6, num_workers=2)))
    assert x.shape == (6, 3, 8, 8) and t.asnumpy().tolist() == [0, 0, 0, 1, 1, 1]
    listed = vision.ImageListDataset(str(folder), [[3.0, "cat/1.png"], [1.0, 2.0, "dog/0.png"]])
    assert listed[0][1] == 3 and listed[1][1].asnumpy().tolist() == [1, 2]
    (folder / "all.lst").write_text("0\t1.0\tcat/0.png\n1\t0.0\tdog/2.png\n")
    assert vision.ImageListDataset(str(folder), "all.lst")[1][1] == 0


def test_image_iterator(folder):
    rows = [[i, f"{name}/{i}.png"] for name in ("cat", "dog") for i in range(3)][:5]
    it = mx.image.ImageIter(2, (3, 8, 8), imglist=rows, path_root=str(folder), resize=9)
    for _ in range(2):
        batches = list(it)
        assert [b.pad for b in batches] == [0, 0, 1] and batches[0].data[0].shape == (2, 3, 8, 8)
        assert [b.label[0].asnumpy().tolist() for b in batches] == [[0, 1], [2, 0], [1, 0]]
        it.reset()
    rolls = mx.image.ImageIter(2, (3, 8, 8), imglist=rows, path_root=str(folder), last_batch_handle="roll_over")
    assert len(list(rolls)) == 2
    rolls.reset()
    assert [b.label[0].asnumpy().tolist() for b in rolls] == [[1, 0], [1, 2], [0, 1]]
    (folder / "cat" / "0.png").write_bytes(b"broken")
    with pytest.raises(RuntimeError, match="Broken image filename: cat/0.png"):
        next(mx.image.ImageIter(2, (3, 8, 8), imglist=rows, path_root=str(folder)))


def test_records_of_images(tmp_path):
    idx, rec = str(tmp_path / "a.idx"), str(tmp_path / "a.rec")
    writer = mx.recordio.MXIndexedRecordIO(idx, rec, "w")
    for i in range(5):
        header = mx.recordio.IRHeader(0, float(i), i, 0)
        writer.write_idx(i, mx.recordio.pack_img(header, PIXELS[..., ::-1], 9, ".png"))
    writer.close()
    found = vision.ImageRecordDataset(rec)
    image, label = found[3]
    np.testing.assert_array_equal(image.asnumpy(), PIXELS)
    assert label == 3 and len(found) == 5
    header, pixels = mx.recordio.unpack_img(mx.recordio.MXIndexedRecordIO(idx, rec, "r").read_idx(2))
    np.testing.assert_array_equal(pixels, PIXELS[..., ::-1])
    common = {"path_imgrec": rec, "data_shape": (3, 9, 9), "batch_size": 2}
    mean, std = np.array([[[10]], [[0]], [[0]]]), np.array([[[1]], [[1]], [[2]]])
    for index in ("", idx):
        it = mx.io.ImageRecordIter(path_imgidx=index, mean_r=10, std_b=2, **common)
        batches = list(it)
        assert [b.pad for b in batches] == [0, 0, 1]
        assert [b.label[0].asnumpy().tolist() for b in batches] == [[0, 1], [2, 3], [4, 0]]
        expected = (PIXELS[1:10].transpose(2, 0, 1) - mean) / std
        np.testing.assert_allclose(batches[0].data[0].asnumpy()[1], expected, rtol=1e-6)
    for kind, cls, expected in (
        ("float32", mx.io.ImageRecordIter_v1, PIXELS[1:10].transpose(2, 0, 1) - 2.5),
        ("uint8", mx.io.ImageRecordUInt8Iter, PIXELS[1:10].transpose(2, 0, 1)),
        ("uint8", mx.io.ImageRecordUInt8Iter_v1, PIXELS[1:10].transpose(2, 0, 1)),
        ("int8", mx.io.ImageRecordInt8Iter, (PIXELS[1:10].transpose(2, 0, 1).astype(int) - 3).clip(-128, 127)),
    ):
        means = {"mean_r": 2.5, "mean_g": 2.5, "mean_b": 2.5}
        for it in (cls(**means, **common), mx.io.ImageRecordIter(dtype=kind, **means, **common)):
            data = it.next().data[0]
            assert data.dtype == np.dtype(kind)
            np.testing.assert_allclose(data.asnumpy()[0], expected)
    with pytest.raises(MXNetError, match="dtype must be float32, uint8 or int8"):
        mx.io.ImageRecordIter(dtype="float64", **common)
    changes = {"shuffle": True, "rand_crop": True, "rand_mirror": True}
    it = mx.io.ImageRecordIter(num_parts=2, part_index=1, **changes, **common)
    assert sorted(it.next().label[0].asnumpy().tolist()) == [2, 3]
    as_they_are = {"max_random_scale": 1.0, "max_aspect_ratio": 0, "random_h": 0, "max_img_size": 1e10}
    it = mx.io.ImageRecordIter(rec, (3, 18, 15), 2, pad=3, fill_value=127, **as_they_are)
    bordered = np.full((18, 15, 3), 127)
    bordered[3:15, 3:12] = PIXELS
    np.testing.assert_array_equal(it.next().data[0].asnumpy()[0], bordered.transpose(2, 0, 1))
    it = mx.io.ImageRecordIter(rec, (3, 24, 5), 2)  # the middle of an image of twice the size
    wider = mx.image.imresize(mx.nd.array(PIXELS, dtype="uint8"), 18, 24).asnumpy()[:, 6:11]
    np.testing.assert_array_equal(it.next().data[0].asnumpy()[0], wider.transpose(2, 0, 1))
    it = mx.image.ImageIter(2, (3, 9, 9), path_imgrec=rec, path_imgidx=idx, shuffle=True)
    assert sorted(x for b in it for x in b.label[0].asnumpy()[: 2 - b.pad]) == [0, 1, 2, 3, 4]


def test_detection_iterator(tmp_path):
    idx, rec = str(tmp_path / "a.idx"), str(tmp_path / "a.rec")
    writer = mx.recordio.MXIndexedRecordIO(idx, rec, "w")
    objects = [[0, 0.1, 0.2, 0.5, 0.6], [1, 0.4, 0.4, 0.9, 0.9]]
    for i in range(3):
        label = [2, 5, *sum(objects[: 1 + i % 2], [])]
        writer.write_idx(i, mx.recordio.pack_img((0, label, i, 0), PIXELS[..., ::-1], 9, ".png"))
    writer.close()
    it = mx.image.ImageDetIter(2, (3, 8, 8), path_imgrec=rec, path_imgidx=idx, rand_mirror=False)
    assert it.label_shape == (2, 5) and it.provide_label == [("label", (2, 2, 5))]
    first, second = list(it)
    assert first.data[0].shape == (2, 3, 8, 8) and second.pad == 1
    np.testing.assert_allclose(first.label[0].asnumpy(), [[objects[0], [-1] * 5], objects], rtol=1e-6)
    rows = [[np.array([2, 5, *objects[0]]), str(tmp_path / "a.png")]]
    (tmp_path / "a.png").write_bytes(encoded(PIXELS))
    other = mx.image.ImageDetIter(1, (3, 8, 8), imglist=rows, path_root="")
    assert other.label_shape == (1, 5)
    it.sync_label_shape(other)
    assert next(other).label[0].shape == (1, 2, 5)
    with pytest.raises(ValueError, match="no room"):
        it.reshape(label_shape=(1, 5))
    with pytest.raises(RuntimeError, match="no objects of 4"):
        it._parse_label(np.array([2, 4, 0, 0.1, 0.2, 0.3, 0.4, 0.5]))
    with pytest.raises(TypeError, match="expected an Augmenter"):
        mx.image.DetBorrowAug(3)


def test_the_exact_bilinear_method():
    image = ((np.arange(12) * 37) % 256).reshape(3, 4, 1)
    found = mx.image.imresize(mx.nd.array(image, dtype="uint8"), 3, 5, interp=5)
    # recorded from MXNet 1.9.1
    assert found.asnumpy().ravel().tolist() == [6, 56, 105, 65, 114, 79, 154, 204, 40, 89, 139, 103, 46, 96, 145]
    assert mx.image.imresize(mx.nd.array(image, dtype="float32"), 3, 5, interp=5).dtype == np.float32
    for wrong in (-1, 6):
        with pytest.raises(MXNetError, match=f"0 to 5, not {wrong}"):
            mx.image.imresize(mx.nd.array(image, dtype="uint8"), 3, 5, interp=wrong)


@pytest.mark.parametrize("method", [1, 2, 3, 4, 5])
def test_channels_are_resized_alone(method):
    image = RNG.randint(0, 256, (6, 5, 9)).astype("uint8")
    found = mx.image.imresize(mx.nd.array(image, dtype="uint8"), 7, 8, interp=method).asnumpy()
    for c in range(9):
        alone = mx.image.imresize(mx.nd.array(image[..., c : c + 1], dtype="uint8"), 7, 8, interp=method).asnumpy()
        # OpenCV's bicubic loop rounds the last numbers of a row in another way
        np.testing.assert_allclose(found[..., c : c + 1], alone, atol=int(method == 2))
