"""Images with boxes from record files, as `ImageDetRecordIter` of the original gives them."""

import numpy as np
import pytest

import compatgrad.mxnet as mx

PIXELS = np.random.RandomState(0).randint(0, 255, (3, 8, 10, 3)).astype(np.uint8)
LABELS = [[2, 5, *(v for k in range(1 + i) for v in (k, 0.1 * k, 0.2, 0.5 + 0.1 * k, 0.9))] for i in range(len(PIXELS))]


@pytest.fixture
def common(tmp_path):
    path = str(tmp_path / "a.rec")
    writer = mx.recordio.MXRecordIO(path, "w")
    for i, (image, label) in enumerate(zip(PIXELS, LABELS, strict=True)):
        header = mx.recordio.IRHeader(0, np.array(label, np.float32), i, 0)
        writer.write(mx.recordio.pack_img(header, image[..., ::-1], 9, ".png"))
    writer.close()
    return {"path_imgrec": path, "data_shape": (3, 8, 10), "batch_size": 2}


def padded(label, width, value=-1.0):
    return [3, 8, 10, len(label), *label] + [value] * (width - len(label))


def test_labels_are_as_long_as_the_longest(common):
    first, second = mx.io.ImageDetRecordIter(**common)
    assert (first.pad, second.pad) == (0, 1)
    np.testing.assert_allclose(first.label[0].asnumpy(), [padded(x, 17) for x in LABELS[:2]], rtol=1e-6)
    np.testing.assert_array_equal(first.data[0].asnumpy(), PIXELS[:2].transpose(0, 3, 1, 2))
    it = mx.io.ImageDetRecordIter(label_pad_width=30, label_pad_value=-2, **common)
    assert it.provide_label[0].shape == (2, 34) and it.provide_label[0].name == "softmax_label"
    np.testing.assert_allclose(it.next().label[0].asnumpy()[1], padded(LABELS[1], 30, -2), rtol=1e-6)


def test_boxes_are_mirrored_with_their_image(common):
    batch = mx.io.ImageDetRecordIter(rand_mirror_prob=1.0, mean_r=10, std_g=2, scale=0.5, **common).next()
    expected = (PIXELS[1][:, ::-1].transpose(2, 0, 1) - [[[10]], [[0]], [[0]]]) * [[[0.5]], [[0.25]], [[0.5]]]
    np.testing.assert_allclose(batch.data[0].asnumpy()[1], expected, rtol=1e-6)
    objects = batch.label[0].asnumpy()[1, 6:16].reshape(2, 5)
    np.testing.assert_allclose(objects, [[0, 0.5, 0.2, 1, 0.9], [1, 0.4, 0.2, 0.9, 0.9]], rtol=1e-6)


def test_images_are_brought_to_the_shape(common):
    data = mx.io.ImageDetRecordIter(**{**common, "data_shape": (3, 16, 20)}).next().data[0]
    expected = mx.image.imresize(mx.nd.array(PIXELS[0], dtype="uint8"), 20, 16, 1).asnumpy()
    np.testing.assert_array_equal(data.asnumpy()[0], expected.transpose(2, 0, 1))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"label_pad_width": 3}, "smaller than the longest label, 17"),
        ({"label_width": 7}, "a record has 7|a record has 12"),
        ({"rand_crop_prob": 0.5}, "rand_crop_prob is not supported"),
        ({"resize_mode": "fit"}, "resize_mode"),
    ],
)
def test_what_is_refused(common, options, words):
    with pytest.raises(mx.MXNetError, match=words):
        mx.io.ImageDetRecordIter(**options, **common)


def test_crops_that_never_happen_may_be_described(common):
    assert mx.io.ImageDetRecordIter(rand_crop_prob=0.0, min_crop_scales=(0.3,), fill_value=3, **common).next()
