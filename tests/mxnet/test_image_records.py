"""ImageRecordIter: changes without chance as MXNet 1.9.1 makes them, and the distributions of the random ones."""

import gc
import multiprocessing
import os
import signal
import threading
import time

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import MXNetError
from compatgrad.mxnet.io import _image_records
from tests.golden import mxnet_image_records as golden

NUMBERS = np.load(golden.GOLDEN)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("records"))
    golden.write(mx, path)
    return path


@pytest.fixture(scope="module")
def found():
    return golden.PARTS["fixed"](mx)


@pytest.mark.parametrize("name", golden.FIXED)
def test_changes_without_chance(found, name):
    expected = NUMBERS[f"fixed/{name}"]
    apart = np.abs(found[name].astype(float) - expected)
    if name == "gray":  # the conversion to grey of the decoder, and of this one, which turned pixels follow
        assert apart.max() <= 1 and apart.mean() < 0.02
    elif name == "resize_chosen":  # by areas, which are rounded in float32
        assert apart.max() <= 1 and apart.mean() < 0.02
    else:
        np.testing.assert_allclose(found[name], expected, rtol=1e-5, atol=1e-4)
    np.testing.assert_array_equal(found[f"{name}/label"], NUMBERS[f"fixed/{name}/label"])


def greatest_gap(a, b):
    """The statistic of Kolmogorov and Smirnov for two samples."""
    at = np.concatenate([a, b])
    shares = [np.searchsorted(np.sort(x), at, "right") / len(x) for x in (a, b)]
    return np.abs(shares[0] - shares[1]).max()


def test_random_changes_have_the_same_distributions():
    """Two samples of 60 of one distribution are further apart than 0.38 once in 3,000 cases."""
    found = golden.PARTS["drawn"](mx)
    for name in golden.DRAWN:
        expected, here = NUMBERS[f"drawn/{name}"], found[name]
        assert here.shape == expected.shape
        assert here[:, 0, 3].std() > 0, name
        for image in range(2):
            for figure in range(6):
                gap = greatest_gap(here[:, image, figure], expected[:, image, figure])
                assert gap < 0.38, (name, image, figure)


def test_seeds(folder):
    def first(**how):
        return golden.iterator(mx, folder, max_rotate_angle=90, **how).next().data[0].asnumpy()

    assert np.array_equal(first(seed=3), first(seed=3)) and not np.array_equal(first(seed=3), first(seed=4))
    assert np.array_equal(first(seed=3, seed_aug=5), first(seed=4, seed_aug=5))
    assert not np.array_equal(first(seed_aug=5), first(seed_aug=6))


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ({"max_crop_size": 120, "min_crop_size": 12}, "a larger image, got 12, 120 and 20 x 28"),
        ({"min_crop_size": 12}, "min_crop_size <= max_crop_size"),
        ({"inter_method": 5}, "inter_method: expected 0 to 4, 9 or 10, got 5"),
        ({"inter_method": 0, "rotate": 3}, "inter_method: 0 is for changes of size only"),
        ({"random_resized_crop": True, "rand_crop": True}, "random_resized_crop excludes"),
        ({"random_resized_crop": True, "max_aspect_ratio": 1.0}, "expected positive aspect ratios.*got ratios "),
        ({"data_shape": (1, 16, 18), "random_h": 3}, "random colours need images of 3 channels"),
        ({"path_imglist": "half.lst"}, "path_imglist has no labels of record 2"),
        ({"path_imglist": "none.lst"}, "No such file"),
        ({"mean_img": "other.bin"}, r"expected the shape \(3, 16, 18\), got \(3, 2, 2\)"),
        ({"mean_img": "broken.bin"}, "broken.bin"),
    ],
)
def test_mistakes(folder, how, error):
    with open(f"{folder}/half.lst", "w") as file:
        file.write("0\t1\ta.png\n1\t1\tb.png\n")
    with open(f"{folder}/broken.bin", "w") as file:
        file.write("no array")
    mx.nd.save(f"{folder}/other.bin", {"mean_img": mx.nd.ones((3, 2, 2))})
    with pytest.raises((MXNetError, FileNotFoundError), match=error):
        golden.iterator(mx, folder, **how).next()


def test_unknown_arguments_are_ignored_as_by_mxnet(folder):
    plain = golden.iterator(mx, folder).next().data[0].asnumpy()
    np.testing.assert_array_equal(golden.iterator(mx, folder, no_such=3, verbose=0).next().data[0].asnumpy(), plain)


# ---- batches that are decoded ahead ---------------------------------------------------------------------------------
@pytest.fixture
def many(tmp_path):
    """A record file of 20 images, of which number 9 is none."""
    path = str(tmp_path / "many.rec")
    file, rng = mx.recordio.MXRecordIO(path, "w"), np.random.RandomState(0)
    for i in range(20):
        image = mx.recordio.pack_img((0, i, i, 0), rng.randint(0, 256, (24, 20, 3)).astype("uint8"), 9, ".png")
        file.write(mx.recordio.pack((0, i, i, 0), b"no image") if i == 9 else image)
    file.close()
    return path


def batches_of(path, size=2, **how):
    return mx.io.ImageRecordIter(path, (3, 16, 18), size, rand_crop=True, rand_mirror=True, seed=1, **how)


def drawn(batches, count):
    return [batches.next().data[0].asnumpy() for _ in range(count)]


def test_batches_ahead_change_no_random_number(many):
    one, four = (batches_of(many, shuffle=True, prefetch_buffer=n) for n in (1, 4))
    for count in (3, 2, 4):  # the epochs end early: what was prepared beyond them is drawn again
        try:
            expected = drawn(one, count)
        except MXNetError:
            with pytest.raises(MXNetError, match="not an image"):
                drawn(four, count)
        else:
            np.testing.assert_array_equal(drawn(four, count), expected)
        one.reset(), four.reset()


def test_an_error_of_a_batch_ahead_is_raised_when_its_turn_comes(many):
    batches = batches_of(many, prefetch_buffer=8)
    assert [batches.next().label[0].asnumpy()[0] for _ in range(4)] == [0, 2, 4, 6]
    with pytest.raises(MXNetError, match="not an image that can be decoded"):
        batches.next()
    assert [batch.label[0].asnumpy()[0] for batch in batches] == [10, 12, 14, 16, 18]
    batches.reset()
    assert batches.next().label[0].asnumpy()[0] == 0


def test_a_batch_is_new_memory(many):
    batches = batches_of(many)
    first = batches.next().data[0]
    before = first.asnumpy().copy()
    first += 1
    drawn(batches, 3)
    np.testing.assert_array_equal(first.asnumpy(), before + 1)


def test_an_iterator_that_is_dropped_half_way_leaves_no_thread(many):
    before = set(threading.enumerate())
    batches = batches_of(many)
    batches.next()
    own = set(threading.enumerate()) - before
    assert own
    del batches
    end = time.monotonic() + 60
    while any(thread.is_alive() for thread in own) and time.monotonic() < end:
        gc.collect()  # the error of the ninth image refers to its iterator
        time.sleep(0.01)
    assert not any(thread.is_alive() for thread in own)


def test_an_interrupted_batch_comes_again(many, monkeypatch):
    """Ctrl-C while the program waits for a batch."""
    expected = drawn(batches_of(many), 2)
    decode = _image_records.decode
    monkeypatch.setattr(_image_records, "decode", lambda *args, **how: time.sleep(0.3) or decode(*args, **how))
    batches = batches_of(many)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            batches.next()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    np.testing.assert_array_equal(drawn(batches, 2), expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_decodes_itself(many):
    expected = drawn(batches_of(many), 3)
    batches = batches_of(many)
    drawn(batches, 1)
    process = multiprocessing.get_context("fork")
    answers = process.Queue()
    child = process.Process(target=lambda: answers.put(drawn(batches, 2)))
    child.start()
    found = answers.get(timeout=60)
    child.join()
    np.testing.assert_array_equal(found, expected[1:])
    np.testing.assert_array_equal(drawn(batches, 2), expected[1:])
