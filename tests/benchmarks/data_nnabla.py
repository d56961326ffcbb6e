"""Iterators over functions, tables and caches of images as nnabla programs."""

import os

import numpy as np
from nnabla.logger import logger
from nnabla.utils.create_cache import CreateCache
from nnabla.utils.data_iterator import data_iterator_cache, data_iterator_csv_dataset, data_iterator_simple
from nnabla.utils.image_utils import imread

from tests.benchmarks import data
from tests.benchmarks.worker import serve

where = str(data.folder())


def epoch(iterator, count):
    """A run that reads as many batches as an epoch has."""

    def run():
        for _ in range(count // data.BATCH):
            iterator.next()

    return run


def function_of_files():
    names = data.names()

    def load(i):
        image = imread(os.path.join(where, names[i]))
        return data.augmented(image, np.random).transpose(2, 0, 1), np.array([i % 10])

    return epoch(data_iterator_simple(load, data.COUNT, data.BATCH, shuffle=True), data.COUNT)


def function_of_arrays():
    pixels, labels = data.digits()

    def load(i):
        return pixels[i, None] / 255.0, labels[i, None]

    return epoch(data_iterator_simple(load, len(pixels), data.BATCH, shuffle=True), len(pixels))


def table_of_files():
    options = {"with_memory_cache": False, "with_file_cache": False}
    return epoch(data_iterator_csv_dataset(f"{where}/images.csv", data.BATCH, shuffle=True, **options), data.COUNT)


def table_of_numbers():
    return epoch(data_iterator_csv_dataset(f"{where}/table.csv", data.BATCH, shuffle=True), data.SMALL_COUNT)


def cache_of_images():
    cache = f"{where}/cache-{os.getpid()}"
    os.mkdir(cache)
    CreateCache(f"{where}/images.csv", shuffle=False).create(cache)
    iterator = data_iterator_cache(cache, data.BATCH, shuffle=True, with_memory_cache=False)
    return epoch(iterator, data.COUNT)


if __name__ == "__main__":
    logger.setLevel("ERROR")
    serve(
        {
            "function of files": function_of_files,
            "function of arrays": function_of_arrays,
            "table of files": table_of_files,
            "table of numbers": table_of_numbers,
            "cache of images": cache_of_images,
        },
        clock=data.CLOCK,
        patience=0,
    )
