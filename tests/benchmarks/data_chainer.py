"""Iterators over image files and arrays as Chainer programs."""

import chainer
import numpy as np
from chainer import datasets, iterators
from chainer.dataset import concat_examples

from tests.benchmarks import data
from tests.benchmarks.worker import serve

where = str(data.folder())


def changed(example):
    image, label = example
    random = np.random
    top, left = random.randint(0, data.SIDE - data.CROP + 1), random.randint(0, data.SIDE - data.CROP + 1)
    image = image[:, top : top + data.CROP, left : left + data.CROP]
    if random.randint(2):
        image = image[:, :, ::-1]
    return (image - mean) / std, label


mean, std = np.float32(data.MEAN).reshape(3, 1, 1), np.float32(data.STD).reshape(3, 1, 1)


def files():
    labels = [(name, i % 10) for i, name in enumerate(data.names())]
    return datasets.TransformDataset(datasets.LabeledImageDataset(labels, where), changed)


def arrays():
    pixels, labels = data.digits()
    return datasets.TupleDataset(pixels[:, None].astype(np.float32) / 255, labels.astype(np.int32))


def epoch(dataset, kind=iterators.SerialIterator, **options):
    """A run that reads all examples as arrays."""
    iterator = kind(dataset, data.BATCH, repeat=False, shuffle=True, **options)

    def run():
        iterator.reset()
        for batch in iterator:
            concat_examples(batch)

    return run


if __name__ == "__main__":
    assert chainer.config.dtype == np.float32
    threads, processes = iterators.MultithreadIterator, iterators.MultiprocessIterator
    serve(
        {
            "serial, files": lambda: epoch(files()),
            "serial, arrays": lambda: epoch(arrays()),
            f"{data.WORKERS} threads, files": lambda: epoch(files(), threads, n_threads=data.WORKERS),
            f"{data.WORKERS} processes, files": lambda: epoch(files(), processes, n_processes=data.WORKERS),
        },
        clock=data.CLOCK,
        patience=0,
    )
