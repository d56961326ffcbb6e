"""Images, iterators and record files on the real MXNet 1.9.1: its interpreter makes mxnet_data.npz of this file.

Each function of PARTS runs the same program on any MXNet and gives its numbers by name.
"""

import os
import random
import tempfile
from pathlib import Path

import numpy as np

from tests.golden import files

GOLDEN = Path(__file__).with_suffix(".npz")
rng = np.random.RandomState(0)
IMAGE = rng.randint(0, 256, (11, 14, 3)).astype("uint8")
BATCH = rng.randint(0, 256, (2, 6, 8, 3)).astype("uint8")


def operators(mx):
    """nd.image, with the random ones at a fixed strength."""
    x, batch, nd = mx.nd.array(IMAGE, dtype="uint8"), mx.nd.array(BATCH, dtype="uint8"), mx.nd.image
    tensor = nd.to_tensor(x)
    found = {
        "to_tensor": tensor,
        "to_tensor_batch": nd.to_tensor(batch),
        "to_tensor_float": nd.to_tensor(x.astype("float32")),
        "normalize": nd.normalize(tensor, mean=(0.1, 0.2, 0.3), std=(0.5, 0.6, 0.7)),
        "normalize_one": nd.normalize(nd.to_tensor(batch), 0.5, 0.25),
        "crop": nd.crop(x, 2, 3, 5, 4),
        "crop_batch": nd.crop(batch, 1, 0, 3, 6),
        "left_right": nd.flip_left_right(x),
        "top_bottom": nd.flip_top_bottom(batch[0]),  # an odd height has a row that the original does not write
        "resize": nd.resize(x, (9, 5)),
        "resize_square": nd.resize(batch, 5),
        "resize_ratio": nd.resize(x, 7, keep_ratio=True),
        "resize_float": nd.resize(x.astype("float32"), (20, 30)),
        "nearest": nd.resize(x, (9, 5), False, 0),
        "brightness": nd.random_brightness(x, 1.3, 1.3),
        "contrast": nd.random_contrast(x, 0.6, 0.6),
        "contrast_float": nd.random_contrast(x.astype("float32"), 1.4, 1.4),
        "hue": nd.random_hue(x.astype("float32"), 1.3, 1.3),
        "lighting": nd.adjust_lighting(x.astype("float32"), (0.1, -0.2, 0.3)),
    }
    return {name: value.asnumpy() for name, value in found.items()}


def sizes(mx):
    """imresize by each method, of bytes and of floats."""
    found = {}
    for channels in (1, 3, 4):
        image = np.concatenate([IMAGE, IMAGE[..., :1]], 2)[..., :channels]
        for dtype in ("uint8", "float32"):
            for size in ((9, 5), (31, 23), (28, 22), (10, 8), (1, 1)):
                for method in (1, 2, 3, 4) if dtype == "float32" else (1, 2, 3, 4, 5):
                    y = mx.image.imresize(mx.nd.array(image, dtype=dtype), *size, interp=method)
                    found[f"{dtype} {channels} {size} {method}"] = y.asnumpy()
    return found


def functions(mx):
    """mx.image."""
    x, image = mx.nd.array(IMAGE, dtype="uint8"), mx.image
    random.seed(1)
    np.random.seed(1)
    found = {
        "short": image.resize_short(x, 7, interp=1),
        "fixed": image.fixed_crop(x, 1, 2, 6, 5, (9, 8), interp=1),
        "center": image.center_crop(x, (8, 20), interp=1)[0],
        "random": image.random_crop(x, (6, 5))[0],
        "random_size": image.random_size_crop(x, (6, 5), (0.2, 0.8), (0.5, 2), interp=1)[0],
        "color": image.color_normalize(x.astype("float32"), mx.nd.array([1, 2, 3]), mx.nd.array([4, 5, 6])),
        "rotate": image.imrotate(mx.nd.array(IMAGE.transpose(2, 0, 1)), 30),
        "rotate_in": image.imrotate(mx.nd.array(BATCH.transpose(0, 3, 1, 2)), mx.nd.array([20, -50]), zoom_in=True),
        "rotate_out": image.imrotate(mx.nd.array(IMAGE.transpose(2, 0, 1)), -40, zoom_out=True),
        "border": image.copyMakeBorder(x, 1, 2, 3, 4),
        "border_edge": image.copyMakeBorder(x, 1, 2, 3, 4, 1),
    }
    found["scale_down"] = mx.nd.array(image.scale_down((30, 20), (50, 40)))
    for i, how in enumerate([
        {"rand_crop": True, "rand_mirror": True, "mean": True, "std": True},
        {"resize": 9, "brightness": 0.2, "contrast": 0.3, "saturation": 0.4, "hue": 0.1, "pca_noise": 0.1},
        {"rand_crop": True, "rand_resize": True, "rand_gray": 0.99},
    ]):  # fmt: skip
        y = mx.nd.array(IMAGE, dtype="uint8")
        for augment in image.CreateAugmenter((3, 8, 8), inter_method=1, **how):
            y = augment(y)
        found[f"augment{i}"] = y
    return {name: value.asnumpy() for name, value in found.items()}


def detection(mx):
    """Augmenters of images with boxes."""
    random.seed(0)
    np.random.seed(0)
    boxes = np.array([[0, 0.1, 0.2, 0.5, 0.6], [1, 0.4, 0.4, 0.9, 0.95], [2, 0, 0, 0.15, 0.1]], "float32")
    found = {}
    for i, how in enumerate([
        {"rand_crop": 1, "min_object_covered": 0.3, "max_attempts": 30},
        {"rand_pad": 1, "rand_mirror": True},
        {"rand_crop": 1, "min_object_covered": [0.1, 0.9], "area_range": [(0.1, 0.5), (0.5, 1.0)]},
        {"rand_crop": 0.5, "rand_pad": 0.5, "rand_mirror": True, "mean": True, "std": True, "brightness": 0.2},
    ]):  # fmt: skip
        augmenters = mx.image.CreateDetAugmenter((3, 6, 7), inter_method=1, **how)
        for k in range(3):
            x, label = mx.nd.array(np.tile(IMAGE, (3, 3, 1)), dtype="uint8"), boxes.copy()
            for augment in augmenters:
                x, label = augment(x, label)
            found[f"{i}/{k}/image"], found[f"{i}/{k}/label"] = x.asnumpy(), label.astype("float32")
    return found


def batches(it, epochs=3):
    found = []
    for _ in range(epochs):
        for batch in it:
            arrays = [*batch.data, *(batch.label or [])]
            found.append(np.concatenate([[batch.pad], *(a.asnumpy().reshape(-1) for a in arrays)]))
        found.append(np.array([-1.0]))
        it.reset()
    return np.concatenate(found)


def iterators(mx):
    data = np.arange(20, dtype="float32").reshape(10, 2)
    label = np.arange(10)
    found = {}
    np.random.seed(3)
    for handle in ("pad", "discard", "roll_over"):
        for size in (3, 5, 7, 13):
            if handle == "pad" or size < 10:
                it = mx.io.NDArrayIter(data, label, size, last_batch_handle=handle)
                found[f"{handle}{size}"] = batches(it)
        it = mx.io.NDArrayIter({"b": data, "a": data + 100}, label, 4, shuffle=True, last_batch_handle=handle)
        found[f"{handle}_shuffled"] = batches(it)
    found["resized"] = batches(mx.io.ResizeIter(mx.io.NDArrayIter(data, label, 4), 5))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "data.csv")
        np.savetxt(path, data, delimiter=",")
        found["csv"] = batches(mx.io.CSVIter(data_csv=path, data_shape=(2,), batch_size=4))
    return found


def records(mx):
    """The bytes of a record file and its index."""
    magic = b"\x0a\x23\xd7\xce"
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("r.idx", "r.rec")]
        writer = mx.recordio.MXIndexedRecordIO(*paths, "w")
        for i, data in enumerate([b"", b"a", b"abcde", magic, b"x" + magic, b"abcd" + magic + magic + b"e"]):
            writer.write_idx(10 + i, data)
        writer.write_idx(7, mx.recordio.pack(mx.recordio.IRHeader(0, 3.5, 7, 0), b"data"))
        writer.write_idx(8, mx.recordio.pack((0, [1.0, 2.0], 8, 1), b"more"))
        writer.close()
        return {os.path.splitext(p)[1]: np.frombuffer(Path(p).read_bytes(), "uint8") for p in paths}


PARTS = {part.__name__: part for part in (operators, sizes, functions, detection, iterators, records)}

if __name__ == "__main__":
    import mxnet

    found = {f"{part}/{name}": value for part, run in PARTS.items() for name, value in run(mxnet).items()}
    files.write(GOLDEN, found, files.versions("mxnet"))
