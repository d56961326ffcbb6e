"""ImageDetRecordIter of the real MXNet 1.9.1: its interpreter makes mxnet_detection_records.npz of this file.

`fixed` are changes without chance: the images and labels. `drawn` are random changes: figures of two images and their
labels in many epochs, whose distributions the tests compare.
"""

import os
from pathlib import Path

import numpy as np

from tests.golden import files
from tests.golden.mxnet_image_records import parts

GOLDEN = Path(__file__).with_suffix(".npz")
FIXED = {
    "plain": {},
    "mirror": {"rand_mirror_prob": 1.0},
    "fit_wide": {"resize_mode": "fit", "data_shape": (3, 16, 40), "mean_r": 3, "std_g": 2},
    "fit_high": {"resize_mode": "fit", "data_shape": (3, 40, 18)},
    "fit_large": {"resize_mode": "fit", "data_shape": (3, 64, 64)},
    "shrink": {"resize_mode": "shrink", "data_shape": (3, 23, 64)},
    "resize": {"resize": 33},
    "resize_nearest": {"resize": 17, "inter_method": 0},
    "resize_chosen": {"resize": 47, "inter_method": 9},
    "scaled": {"mean_r": 10, "mean_g": -20, "std_r": 2, "scale": 0.5},
    "negative_means": {"mean_r": -10, "std_b": -3, "scale": 0.5},
    "list": {"path_imglist": "a.lst"},
    "list_seven": {"path_imglist": "a.lst", "label_width": 7, "label_pad_width": 9, "label_pad_value": 3},
    "ignored": {"rotate": 30, "max_rotate_angle": 20, "brightness": 0.3, "rand_crop": True, "no_such": 3},
    "no_sampler": {"rand_crop_prob": 1.0, "num_crop_sampler": 0},
}
PART = {"rand_crop_prob": 1.0, "min_crop_scales": 0.3, "max_crop_scales": 0.9}
DRAWN = {
    "mirror": {"rand_mirror_prob": 0.5},
    "hue": {"random_hue_prob": 0.7, "max_random_hue": 30},
    "pure": {"random_saturation_prob": 1.0, "max_random_saturation": 60},
    "light": {"random_illumination_prob": 0.5, "max_random_illumination": 60},
    "contrast": {"random_contrast_prob": 0.8, "max_random_contrast": 0.5},
    "border": {"rand_pad_prob": 0.7, "max_pad_scale": 2.5},
    "border_fill": {"rand_pad_prob": 1.0, "max_pad_scale": 1.2, "fill_value": 9},
    "part": PART,
    "part_ratio": {**PART, "min_crop_aspect_ratios": 0.5, "max_crop_aspect_ratios": 2.0},
    "overlap": {**PART, "min_crop_overlaps": 0.3, "max_crop_overlaps": 0.8, "crop_emit_mode": "overlap"},
    "object": {**PART, "min_crop_object_coverages": 0.6, "crop_emit_mode": "overlap", "emit_overlap_thresh": 0.5},
    "sample": {**PART, "min_crop_sample_coverages": 0.5, "max_crop_trials": 3},
    "samplers": {
        "rand_crop_prob": 0.8,
        "num_crop_sampler": 3,
        "min_crop_scales": (0.2, 0.5, 0.7),
        "max_crop_scales": (0.4, 0.6, 0.9),
        "min_crop_overlaps": (0.6, 0.0, 0.1),
        "min_crop_aspect_ratios": 0.8,
        "max_crop_aspect_ratios": 1.3,
        "max_crop_trials": 9,
    },
    "all": {
        **PART,
        "rand_pad_prob": 0.5,
        "max_pad_scale": 2.0,
        "rand_mirror_prob": 0.5,
        "random_hue_prob": 0.5,
        "max_random_hue": 20,
        "resize_mode": "fit",
    },
}


def write(mx, folder):
    """A record file and a list of labels; an object of record 2 has no height."""
    rng = np.random.RandomState(0)
    writer = mx.recordio.MXIndexedRecordIO(os.path.join(folder, "a.idx"), os.path.join(folder, "a.rec"), "w")
    for i in range(4):
        x = np.kron(rng.randint(0, 256, (5 + i % 3, 7, 3)), np.ones((4, 4, 1)))
        x = (x + rng.randint(-20, 20, x.shape)).clip(0, 255).astype("uint8")
        label = [3, 6, 0.5]
        for k in range(1 + i):
            label += [k, 0.1 * k, 0.2, 0.5 + 0.1 * k, 0.2 if i == 2 and k == 1 else 0.9 - 0.1 * k, 10 * k]
        header = mx.recordio.IRHeader(0, np.array(label, "float32"), i, 0)
        writer.write_idx(i, mx.recordio.pack_img(header, x, 9, ".png"))
    writer.close()
    Path(folder, "a.lst").write_text("".join(f"{i}\t2\t5 {i}\t.1\t.2\t.3\t.9\ta.png\n" for i in range(4)))


def iterator(mx, folder, **how):
    how = {k: os.path.join(folder, v) if k == "path_imglist" else v for k, v in how.items()}
    paths = {"path_imgrec": os.path.join(folder, "a.rec"), "path_imgidx": os.path.join(folder, "a.idx")}
    return mx.io.ImageDetRecordIter(
        **{**paths, "data_shape": (3, 16, 18), "batch_size": 4, "preprocess_threads": 1, "verbose": False, **how}
    )


def figures(x, plain, label):
    colours = [x.mean(), x[0].mean(), x.std(), np.abs(x - plain).mean()]
    return [*colours, label[2], label[3], *label[8:12]]


PARTS = parts(write, iterator, FIXED, DRAWN, figures)

if __name__ == "__main__":
    import mxnet

    found = {f"{part}/{name}": value for part, run in PARTS.items() for name, value in run(mxnet).items()}
    files.write(GOLDEN, found, files.versions("mxnet"))
