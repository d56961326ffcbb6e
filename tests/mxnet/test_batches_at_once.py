"""Loaders read and change a batch at once where that gives what one sample after the other gives."""

import random

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import MXNetError, gluon, nd
from compatgrad.mxnet.gluon.data import _batches
from compatgrad.mxnet.gluon.data.vision import transforms

IMAGES = np.random.RandomState(0).randint(0, 256, (20, 6, 5, 3)).astype("uint8")
LABELS = np.arange(20, dtype="int32")
TO_TENSOR, NORMALIZE = transforms.ToTensor(), transforms.Normalize((0.1, 0.2, 0.3), (0.3, 0.2, 0.1))


class Rows(gluon.data.Dataset):
    """Reads rows one by one, in a class of a program's own."""

    def __init__(self, images=IMAGES):
        self.images, self.read = [nd.array(x, dtype=x.dtype) for x in images], []

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        self.read.append(i)
        return self.images[i], LABELS[i], float(i)


def arrays(images=IMAGES, labels=LABELS):
    return gluon.data.ArrayDataset(nd.array(images, dtype=images.dtype), labels)


def one_by_one(dataset, **how):
    """Batches of a function that a loader cannot replace."""
    return list(gluon.data.DataLoader(dataset, batchify_fn=lambda x: gluon.data.batchify._stacked(x), **how))


def same(found, expected):
    assert type(found) is type(expected)
    if isinstance(found, list):
        assert len(found) == len(expected)
        for pair in zip(found, expected, strict=True):
            same(*pair)
    else:
        assert found.dtype == expected.dtype and found.tensor.is_contiguous()
        np.testing.assert_array_equal(found.asnumpy(), expected.asnumpy(), strict=True)


def as_one_by_one(dataset, **how):
    def seeded():
        random.seed(1), np.random.seed(1), mx.random.seed(1)

    seeded()
    expected = one_by_one(dataset, **how)
    seeded()
    found = list(gluon.data.DataLoader(dataset, **how))
    assert len(found) == len(expected)
    for pair in zip(found, expected, strict=True):
        same(*pair)
    return found


CHANGES = {
    "to tensor": TO_TENSOR,
    "to tensor, normalize": transforms.Compose([TO_TENSOR, NORMALIZE]),
    "hybrid": transforms.HybridCompose([TO_TENSOR, transforms.Normalize(0.5, 0.25)]),
    "random first": transforms.Compose([transforms.RandomFlipLeftRight(), transforms.RandomCrop(4), TO_TENSOR]),
    "random last": transforms.Compose([TO_TENSOR, transforms.Cast("float16")]),
    "normalize twice": transforms.Compose([TO_TENSOR, NORMALIZE, NORMALIZE]),
    "floats": transforms.Compose([transforms.Cast("float32"), TO_TENSOR, NORMALIZE]),
    "function": lambda x: x + 1,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
@pytest.mark.parametrize("make", [arrays, Rows])
def test_batches_are_those_of_one_sample_after_the_other(make, change):
    as_one_by_one(make().transform_first(change), batch_size=8, shuffle=True)


def test_images_of_many_pixels():
    big = np.random.RandomState(0).randint(0, 256, (5, 170, 180, 3)).astype("uint8")
    as_one_by_one(arrays(big, LABELS[:5]).transform_first(CHANGES["to tensor, normalize"]), batch_size=4)


@pytest.mark.parametrize("labels", [LABELS, LABELS.astype("uint8"), LABELS > 3, list(range(20)), [1.5] * 20, IMAGES])
def test_arrays_without_changes(labels):
    as_one_by_one(arrays(labels=labels), batch_size=8, last_batch="rollover")
    as_one_by_one(gluon.data.ArrayDataset(labels), batch_size=8)
    as_one_by_one(gluon.data.ArrayDataset(Rows(), labels), batch_size=8)


def test_images_are_read_at_once(monkeypatch):
    """A slow path would give the same values."""
    monkeypatch.setattr(gluon.data.ArrayDataset, "__getitem__", None)
    monkeypatch.setattr(transforms.ToTensor, "__call__", None)
    x, label = next(iter(gluon.data.DataLoader(arrays().transform_first(CHANGES["to tensor, normalize"]), 8)))
    assert x.shape == (8, 3, 6, 5) and label.asnumpy().tolist() == list(range(8))


def test_samples_of_a_program_are_read_once_and_in_order():
    dataset = Rows()
    list(gluon.data.DataLoader(dataset.transform_first(TO_TENSOR), batch_sampler=[[3, 1], [0, 19, 4]]))
    assert dataset.read == [3, 1, 0, 19, 4]


@pytest.mark.parametrize("how", [{"num_workers": 2}, {"num_workers": 2, "thread_pool": True}], ids=str)
def test_workers(how):
    dataset = arrays().transform_first(CHANGES["to tensor, normalize"])
    expected = one_by_one(dataset, batch_size=8)
    for pair in zip(gluon.data.DataLoader(dataset, 8, **how), expected, strict=True):
        same(*pair)


def test_hooks_are_called_for_each_image():
    seen = []
    for block in (transforms.ToTensor(), transforms.Compose([transforms.ToTensor()])):
        block.register_forward_hook(lambda block, inputs, output: seen.append(output.shape))
        next(iter(gluon.data.DataLoader(arrays().transform_first(block), 4)))
        assert seen == [(3, 6, 5)] * 4
        seen.clear()


@pytest.mark.parametrize(
    ("make", "change"),
    [
        (lambda: Rows([IMAGES[0], IMAGES[1, 1:]] * 4), TO_TENSOR),
        (lambda: arrays(IMAGES[..., :2]), CHANGES["to tensor, normalize"]),
        (arrays, transforms.Compose([TO_TENSOR, transforms.Normalize((1.0, 2.0), 1.0)])),
        (arrays, NORMALIZE),
        (lambda: arrays(IMAGES[:, :, 0]), transforms.Compose([NORMALIZE])),
        (lambda: arrays(IMAGES[:, 0, 0]), TO_TENSOR),
    ],
)
def test_errors_are_those_of_one_image(make, change):
    dataset = make().transform_first(change)
    with pytest.raises(MXNetError) as expected:
        one_by_one(dataset, batch_size=4)
    with pytest.raises(MXNetError) as found:
        list(gluon.data.DataLoader(dataset, 4))
    assert str(found.value) == str(expected.value)


def test_an_index_that_does_not_exist():
    with pytest.raises(IndexError):
        list(gluon.data.DataLoader(arrays(), batch_sampler=[[0, 20]]))
    same(
        _batches.load(arrays(), [-1, 0], gluon.data.dataloader.default_batchify_fn),
        one_by_one(arrays(), batch_sampler=[[-1, 0]])[0],
    )
