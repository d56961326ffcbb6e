"""python -m tests.benchmarks.data FOLDER

Writes the files that the programs of `tests.benchmarks --data` read: JPEG images of COUNT photograph-like pictures, as
files and as records, and tables of numbers.
"""

import os
import pathlib
import struct
import sys
import time

import numpy as np

COUNT, SIDE = 512, 256  # images and their pixels
BATCH = 32
RESIZED, CROP = 240, 224  # the shorter side before a random part is taken, and the part's side
MEAN, STD = (123.68, 116.28, 103.53), (58.395, 57.12, 57.375)
SMALL, SMALL_COUNT = 28, 4096  # images of handwritten digits are as large
WORKERS = 2
CLOCK = time.perf_counter  # programs use threads and processes
# workload -> the number of images that a run of it reads
IMAGES = {
    "record iterator": COUNT,
    "record iterator, bytes": COUNT,
    "image iterator": COUNT,
    "array iterator": SMALL_COUNT,
    "table iterator": SMALL_COUNT,
    "digits iterator": SMALL_COUNT,
    "loader of records": COUNT,
    f"loader of records, {WORKERS} workers": COUNT,
    "loader of arrays": SMALL_COUNT,
    f"loader of arrays, {WORKERS} workers": SMALL_COUNT,
    "serial, files": COUNT,
    "serial, arrays": SMALL_COUNT,
    f"{WORKERS} threads, files": COUNT,
    f"{WORKERS} processes, files": COUNT,
    "function of files": COUNT,
    "function of arrays": SMALL_COUNT,
    "table of files": COUNT,
    "table of numbers": SMALL_COUNT,
    "cache of images": COUNT,
}


def folder():
    """Where the files are."""
    return pathlib.Path(os.environ["BENCHMARK_DATA"])


def names():
    return [f"{i:04d}.jpg" for i in range(COUNT)]


def pictures():
    """Images (SIDE, SIDE, 3) with large shapes and some noise, which take about as many bytes as photographs."""
    random = np.random.RandomState(0)
    for _ in range(COUNT):
        picture = np.zeros((SIDE, SIDE, 3))
        for size, weight in ((4, 150), (32, 60), (SIDE, 25)):
            picture += weight * random.rand(size, size, 3).repeat(SIDE // size, 0).repeat(SIDE // size, 1)
        yield picture.clip(0, 255).astype(np.uint8)


def write(where):
    import compatgrad.mxnet as mx

    records = mx.recordio.MXIndexedRecordIO(f"{where}/images.idx", f"{where}/images.rec", "w")
    table = ["x:image,y:label"]
    for i, (name, picture) in enumerate(zip(names(), pictures(), strict=True)):
        record = mx.recordio.pack_img((0, i % 10, i, 0), picture, quality=90)
        records.write_idx(i, record)
        pathlib.Path(where, name).write_bytes(mx.recordio.unpack(record)[1])
        table.append(f"{name},{i % 10}")
    records.close()
    pathlib.Path(where, "images.csv").write_text("\n".join(table) + "\n")
    random = np.random.RandomState(1)
    pixels = random.randint(0, 256, (SMALL_COUNT, SMALL, SMALL)).astype(np.uint8)
    labels = random.randint(0, 10, SMALL_COUNT).astype(np.uint8)
    head = struct.pack(">IIII", 0x803, SMALL_COUNT, SMALL, SMALL)
    pathlib.Path(where, "digits").write_bytes(head + pixels.tobytes())
    pathlib.Path(where, "digits.labels").write_bytes(struct.pack(">II", 0x801, SMALL_COUNT) + labels.tobytes())
    numbers = random.rand(SMALL_COUNT, SMALL * SMALL).astype(np.float32)
    np.savetxt(f"{where}/numbers.csv", numbers, "%.6f", ",")
    np.savetxt(f"{where}/labels.csv", labels, "%d")
    head = ",".join(f"x__{i}" for i in range(SMALL * SMALL)) + ",y\n"
    rows = [f"{','.join(f'{x:.6f}' for x in row)},{label}" for row, label in zip(numbers, labels, strict=True)]
    pathlib.Path(where, "table.csv").write_text(head + "\n".join(rows) + "\n")


def digits():
    """The small images, uint8 (SMALL_COUNT, SMALL, SMALL), and their labels."""
    where = folder()
    pixels = np.frombuffer((where / "digits").read_bytes(), np.uint8, offset=16)
    return pixels.reshape(-1, SMALL, SMALL), np.frombuffer((where / "digits.labels").read_bytes(), np.uint8, offset=8)


def augmented(picture, random):
    """What the Chainer program and its torch program do with an image (height, width, 3): part, mirror, scale."""
    top, left = random.randint(0, picture.shape[0] - CROP + 1), random.randint(0, picture.shape[1] - CROP + 1)
    picture = picture[top : top + CROP, left : left + CROP]
    if random.randint(2):
        picture = picture[:, ::-1]
    return (picture.astype(np.float32) - np.float32(MEAN)) / np.float32(STD)


if __name__ == "__main__":
    write(sys.argv[1])
