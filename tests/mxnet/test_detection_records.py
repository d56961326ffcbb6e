"""Images with boxes from record files, as `ImageDetRecordIter` of the original gives them."""

import numpy as np
import pytest

import compatgrad.mxnet as mx
from tests.golden import mxnet_detection_records as golden
from tests.mxnet.test_image_records import greatest_gap

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
        ({"resize_mode": "pad"}, "resize_mode: expected 'force', 'shrink', 'fit', got 'pad'"),
        ({"crop_emit_mode": 1}, "crop_emit_mode: expected 'center', 'overlap', got 1"),
        ({"inter_method": 7}, "inter_method: expected 0, 1, 2, 3, 4, 9, 10, got 7"),
        ({"emit_overlap_thresh": -1}, "emit_overlap_thresh: expected 0 or more"),
        ({"min_crop_scales": (0.3, 0.5)}, r"min_crop_scales: expected one value, or 1 \(num_crop_sampler\)"),
        ({"num_crop_sampler": 2, "max_crop_trials": (1, 2, 3)}, "max_crop_trials: expected one value, or 2"),
        ({"max_crop_scales": 1.5}, "min_crop_scales < max_crop_scales <= 1, got 0.0 and 1.5"),
        ({"min_crop_scales": 0.5, "max_crop_scales": 0.5}, "min_crop_scales < max_crop_scales"),
        ({"min_crop_overlaps": 0.5, "max_crop_overlaps": 0.4}, "min_crop_overlaps <= max_crop_overlaps"),
        ({"min_crop_aspect_ratios": -0.5}, "min_crop_aspect_ratios <= max_crop_aspect_ratios"),
        ({"data_shape": (1, 8, 10), "max_random_hue": 3, "random_hue_prob": 0.1}, "random colours need images of 3"),
    ],
)
def test_what_is_refused(common, options, words):
    with pytest.raises(mx.MXNetError, match=words):
        mx.io.ImageDetRecordIter(**{**common, **options})


@pytest.mark.parametrize(
    "label",
    [[2, 5, 0, 0, 0, 1], [1, 5, 0, 0, 0, 1, 1], [2, 4, 0, 0, 1, 1, 0], [2, 5] + [0] * 6, [12, 5, 0, 0, 0, 1, 1]],
)
def test_labels_that_are_none_of_boxes(tmp_path, label):
    path = str(tmp_path / "b.rec")
    writer = mx.recordio.MXRecordIO(path, "w")
    writer.write(mx.recordio.pack_img(mx.recordio.IRHeader(0, np.array(label, np.float32), 0, 0), PIXELS[0], 9, ".png"))
    writer.close()
    with pytest.raises(mx.MXNetError, match="a label of boxes has"):
        mx.io.ImageDetRecordIter(path, (3, 8, 10), 1).next()


def test_lists_of_labels_that_lack_something(common, tmp_path):
    (tmp_path / "a.lst").write_text("0\t2\t5\t0\t0\t0\t1\t1\ta.png\n")
    with pytest.raises(mx.MXNetError, match="path_imglist has no labels of record 1"):
        mx.io.ImageDetRecordIter(path_imglist=str(tmp_path / "a.lst"), **common).next()
    (tmp_path / "a.lst").write_text("0\ta.png\n")
    with pytest.raises(mx.MXNetError, match="too few numbers: '0"):
        mx.io.ImageDetRecordIter(path_imglist=str(tmp_path / "a.lst"), **common)


# ---- the original's changes ------------------------------------------------------------------------------------------
NUMBERS = np.load(golden.GOLDEN)


def test_changes_without_chance_are_the_originals():
    found = golden.PARTS["fixed"](mx)
    for name in golden.FIXED:
        expected = NUMBERS[f"fixed/{name}"]
        assert found[name].shape == expected.shape
        np.testing.assert_allclose(found[name].astype(float), expected, rtol=1e-5, atol=1e-4, err_msg=name)
        np.testing.assert_allclose(found[f"{name}/label"], NUMBERS[f"fixed/{name}/label"], rtol=1e-6, err_msg=name)


def test_random_changes_have_the_originals_distributions():
    """Two samples of 60 of one distribution are further apart than 0.38 once in 3,000 cases."""
    found = golden.PARTS["drawn"](mx)
    for name in golden.DRAWN:
        expected, here = NUMBERS[f"drawn/{name}"], found[name]
        assert here.shape == expected.shape and here[:, 0, 3].std() > 0, name
        for image in range(2):
            for figure in range(expected.shape[2]):
                assert greatest_gap(here[:, image, figure], expected[:, image, figure]) < 0.38, (name, image, figure)


def test_objects_go_with_their_image(tmp_path):
    """A white object on black: wherever the changes put it, its box is around the white pixels."""
    path, image = str(tmp_path / "w.rec"), np.zeros((200, 250, 3), np.uint8)
    image[50:100, 75:175] = 255
    label = np.array([2, 5, 0, 0.3, 0.25, 0.7, 0.5], np.float32)
    writer = mx.recordio.MXRecordIO(path, "w")
    writer.write(mx.recordio.pack_img(mx.recordio.IRHeader(0, label, 0, 0), image, 9, ".png"))
    writer.close()
    it = mx.io.ImageDetRecordIter(
        path, (3, 200, 200), 1, rand_mirror_prob=0.5, rand_pad_prob=0.5, max_pad_scale=2.0, fill_value=0,
        rand_crop_prob=0.7, min_crop_scales=0.5, min_crop_object_coverages=0.8, seed=3,
    )  # fmt: skip
    places = []
    for _ in range(40):
        it.reset()
        batch = it.next()
        rows, columns = np.nonzero(batch.data[0].asnumpy()[0, 0] > 127)
        box = batch.label[0].asnumpy()[0, 7:11] * 200
        np.testing.assert_allclose(box, [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1], atol=4)
        places.append(box)
    assert np.std(places, 0).min() > 5
