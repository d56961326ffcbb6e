"""Iterators and loaders of images as MXNet programs."""

import mxnet as mx
import numpy as np
from mxnet import gluon
from mxnet.gluon.data.vision import transforms

from tests.benchmarks import data
from tests.benchmarks.worker import serve

where = str(data.folder())


def epoch(iterator):
    """A run that reads all batches of an iterator."""

    def run():
        iterator.reset()
        for batch in iterator:
            batch.data[0].wait_to_read()
            batch.label[0].wait_to_read()

    return run


def begun(make):
    """A run that also opens the files, which some iterators read as a whole then."""
    return lambda: epoch(make())()


def records(dtype="float32", **options):
    return mx.io.ImageRecordIter(
        path_imgrec=f"{where}/images.rec",
        path_imgidx=f"{where}/images.idx",
        data_shape=(3, data.CROP, data.CROP),
        batch_size=data.BATCH,
        shuffle=True,
        resize=data.RESIZED,
        rand_crop=True,
        rand_mirror=True,
        preprocess_threads=2,
        dtype=dtype,
        **options,
    )


def normalized_records():
    mean, std = zip("rgb", data.MEAN, strict=True), zip("rgb", data.STD, strict=True)
    return records(**{f"mean_{c}": x for c, x in mean}, **{f"std_{c}": x for c, x in std})


def images():
    return mx.image.ImageIter(
        data.BATCH,
        (3, data.CROP, data.CROP),
        path_imgrec=f"{where}/images.rec",
        path_imgidx=f"{where}/images.idx",
        shuffle=True,
        resize=data.RESIZED,
        rand_crop=True,
        rand_mirror=True,
        mean=np.array(data.MEAN),
        std=np.array(data.STD),
    )


def arrays():
    pixels, labels = data.digits()
    return mx.io.NDArrayIter(pixels[:, None].astype(np.float32), labels, data.BATCH, shuffle=True)


def table():
    return mx.io.CSVIter(
        data_csv=f"{where}/numbers.csv",
        data_shape=(data.SMALL * data.SMALL,),
        label_csv=f"{where}/labels.csv",
        batch_size=data.BATCH,
    )


def digits():
    return mx.io.MNISTIter(
        image=f"{where}/digits", label=f"{where}/digits.labels", batch_size=data.BATCH, shuffle=True, silent=True
    )


def loaded(dataset, workers):
    loader = gluon.data.DataLoader(dataset, data.BATCH, shuffle=True, num_workers=workers)

    def run():
        for x, t in loader:
            x.wait_to_read()
            t.wait_to_read()

    return run


def loader_of_records(workers=0):
    change = transforms.Compose(
        [
            transforms.RandomResizedCrop(data.CROP),
            transforms.RandomFlipLeftRight(),
            transforms.ToTensor(),
            transforms.Normalize([x / 255 for x in data.MEAN], [x / 255 for x in data.STD]),
        ]
    )
    dataset = gluon.data.vision.ImageRecordDataset(f"{where}/images.rec").transform_first(change)
    return loaded(dataset, workers)


def loader_of_arrays(workers=0):
    pixels, labels = data.digits()
    change = transforms.Compose([transforms.ToTensor(), transforms.Normalize(0.13, 0.31)])
    dataset = gluon.data.ArrayDataset(mx.nd.array(pixels[..., None], dtype="uint8"), labels.astype(np.int32))
    return loaded(dataset.transform_first(change), workers)


if __name__ == "__main__":
    serve(
        {
            "record iterator": lambda: epoch(normalized_records()),
            "record iterator, bytes": lambda: epoch(records("uint8")),
            "image iterator": lambda: epoch(images()),
            "array iterator": lambda: epoch(arrays()),
            "table iterator": lambda: begun(table),
            "digits iterator": lambda: begun(digits),
            "loader of records": loader_of_records,
            f"loader of records, {data.WORKERS} workers": lambda: loader_of_records(data.WORKERS),
            "loader of arrays": loader_of_arrays,
            f"loader of arrays, {data.WORKERS} workers": lambda: loader_of_arrays(data.WORKERS),
        },
        clock=data.CLOCK,
        patience=0,
    )
