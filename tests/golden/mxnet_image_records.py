"""ImageRecordIter of the real MXNet 1.9.1: its interpreter makes mxnet_image_records.npz of this file.

`fixed` are changes without chance: the images and labels. `drawn` are random changes: figures of two images in many
epochs, whose distributions the tests compare.
"""

import os
import tempfile
from pathlib import Path

import numpy as np

from tests.golden import files

GOLDEN = Path(__file__).with_suffix(".npz")
SHAPE = (3, 16, 18)
EPOCHS = 60
FIXED = {
    "plain": {},
    "rotate": {"rotate": 30},
    "rotate_fill": {"rotate": 200, "fill_value": 7},
    "scale": {"max_random_scale": 1.5, "min_random_scale": 1.5},
    "small": {"max_random_scale": 0.6, "min_random_scale": 0.6},
    "ratio": {"max_aspect_ratio": 1.5, "min_aspect_ratio": 1.5},
    "ratio_rotate": {"max_aspect_ratio": 0.5, "min_aspect_ratio": 0.5, "rotate": 20},
    "at_most": {"max_img_size": 20},
    "at_least": {"min_img_size": 40},
    "square": {"max_crop_size": 12, "min_crop_size": 12},
    "cubic": {"rotate": 15, "inter_method": 2},
    "lanczos": {"rotate": 15, "inter_method": 4},
    "resize": {"resize": 33},
    "resize_nearest": {"resize": 17, "inter_method": 0},
    "resize_chosen": {"resize": 17, "inter_method": 9},
    "pad_rotate": {"pad": 4, "fill_value": 100, "rotate": 10},
    "mirror": {"mirror": True, "mean_r": 10, "mean_g": 20, "mean_b": 30, "std_r": 2, "std_g": 3, "scale": 0.5},
    "list": {"path_imglist": "a.lst", "label_width": 2},
    "list_one": {"path_imglist": "a.lst"},
    "mean_made": {"mean_img": "made.bin", "scale": 0.5, "std_r": 2},
    "mean_read": {"mean_img": "mean.bin", "scale": 0.5, "std_r": 2, "mean_r": 3, "mirror": True},
    "gray": {"data_shape": (1, 16, 18), "rotate": 30},
}
DRAWN = {
    "brightness": {"brightness": 0.4},
    "contrast": {"contrast": 0.4},
    "saturation": {"saturation": 0.4},
    "in_any_order": {"brightness": 0.3, "contrast": 0.3, "saturation": 0.3},
    "hue": {"random_h": 30},
    "pure": {"random_s": 60},
    "light": {"random_l": 60},
    "noise": {"pca_noise": 0.3},
    "shear": {"max_shear_ratio": 0.3},
    "angle": {"max_rotate_angle": 20},
    "factor": {"max_random_contrast": 0.3, "scale": 0.5},
    "summand": {"max_random_illumination": 20.0, "scale": 0.5, "std_r": 2},
    "ratio": {"max_aspect_ratio": 0.3},
    "scale": {"max_random_scale": 1.4, "min_random_scale": 0.8},
    "area": {
        "random_resized_crop": True,
        "max_random_area": 0.9,
        "min_random_area": 0.2,
        "max_aspect_ratio": 1.3,
        "min_aspect_ratio": 0.7,
    },
    "squares": {"max_crop_size": 19, "min_crop_size": 9, "rand_crop": True},
}


def write(mx, folder):
    """A record file, a list of labels and a mean image."""
    rng = np.random.RandomState(0)
    writer = mx.recordio.MXIndexedRecordIO(os.path.join(folder, "a.idx"), os.path.join(folder, "a.rec"), "w")
    for i in range(4):
        x = np.kron(rng.randint(0, 256, (5 + i % 3, 7, 3)), np.ones((4, 4, 1)))
        x = (x + rng.randint(-20, 20, x.shape)).clip(0, 255).astype("uint8")
        writer.write_idx(i, mx.recordio.pack_img(mx.recordio.IRHeader(0, float(i), i, 0), x, 9, ".png"))
    writer.close()
    Path(folder, "a.lst").write_text("".join(f"{i}\t{10 + i}\t{20 + i}\ta.png\n" for i in range(4)))
    mean = np.arange(np.prod(SHAPE)).reshape(SHAPE) % 50
    mx.nd.save(os.path.join(folder, "mean.bin"), {"mean_img": mx.nd.array(mean)})


def iterator(mx, folder, **how):
    how = {k: os.path.join(folder, v) if k in ("path_imglist", "mean_img") else v for k, v in how.items()}
    paths = {"path_imgrec": os.path.join(folder, "a.rec"), "path_imgidx": os.path.join(folder, "a.idx")}
    return mx.io.ImageRecordIter(**{**paths, "data_shape": SHAPE, "batch_size": 4, "preprocess_threads": 1, **how})


def figures(x, plain, label):
    return [x.mean(), x[0].mean(), x.std(), np.abs(x - plain).mean(), x[0, 0].mean(), x[2, :, 0].mean()]


def parts(write, iterator, settings, random_settings, figures):
    """The two parts of such a file: changes without chance, and random ones. `figures(image, plain image, label)` gives
    the numbers of an image whose distribution is compared."""

    def fixed(mx):
        found = {}
        with tempfile.TemporaryDirectory() as folder:
            write(mx, folder)
            for name, how in settings.items():
                batch = iterator(mx, folder, **how).next()
                data = batch.data[0].asnumpy()
                whole = np.array_equal(data, np.clip(np.rint(data), 0, 255))
                found[name] = data.astype("uint8") if whole else data
                found[f"{name}/label"] = batch.label[0].asnumpy()
        return found

    def drawn(mx):
        found = {}
        with tempfile.TemporaryDirectory() as folder:
            write(mx, folder)
            plain = iterator(mx, folder, data_shape=(3, 20, 28)).next().data[0].asnumpy()
            for name, how in random_settings.items():
                it, rows = iterator(mx, folder, data_shape=(3, 20, 28), **how), []
                for _ in range(EPOCHS):
                    it.reset()
                    batch = it.next()
                    x, label = batch.data[0].asnumpy(), batch.label[0].asnumpy()
                    rows.append([figures(x[i], plain[i], label[i]) for i in (0, 3)])
                found[name] = np.array(rows, "float32")
        return found

    return {"fixed": fixed, "drawn": drawn}


PARTS = parts(write, iterator, FIXED, DRAWN, figures)

if __name__ == "__main__":
    import mxnet

    found = {f"{part}/{name}": value for part, run in PARTS.items() for name, value in run(mxnet).items()}
    files.write(GOLDEN, found, files.versions("mxnet"))
