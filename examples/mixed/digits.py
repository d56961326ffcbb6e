"""Handwritten digits that come with scikit-learn: 1,797 images of 8x8 pixels."""

import numpy as np

try:
    from sklearn.datasets import load_digits
except ImportError as error:
    raise SystemExit(f"the programs learn from scikit-learn's digits ({error}): pip install scikit-learn") from None

N_TRAIN = 1500


def arrays():
    """((x, t), (x, t)) for training and testing: images (n, 1, 8, 8) with pixels in [0, 1], and their classes (n,)."""
    data = load_digits()
    x = (data.data / 16).astype(np.float32).reshape(-1, 1, 8, 8)
    t = data.target.astype(np.int32)
    return (x[:N_TRAIN], t[:N_TRAIN]), (x[N_TRAIN:], t[N_TRAIN:])


def show(images):
    """Draws some images (n, 1, 8, 8) in the terminal."""
    for row in range(images.shape[2]):
        print("  ".join("".join(" .:-=+*#%@"[min(int(p * 10), 9)] for p in image[0, row]) for image in images))
