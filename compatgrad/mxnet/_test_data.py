"""Data and matrices for tests and examples."""

from __future__ import annotations

import os
import platform
from typing import Any

import numpy as np
import numpy.random as rnd

from .io import DataIter, NDArrayIter

__all__ = [
    "DummyIter", "get_mnist", "get_mnist_iterator", "is_aarch64_run", "new_matrix_with_real_eigvals_2d",
    "new_matrix_with_real_eigvals_nd", "new_orthonormal_matrix_2d", "new_sym_matrix_with_real_eigvals_2d",
    "new_sym_matrix_with_real_eigvals_nd", "shuffle_csr_column_indices",
]  # fmt: skip


def get_mnist(path: str | None = None) -> dict[str, np.ndarray]:
    """MNIST as NumPy arrays: train_data and test_data (n, 1, 28, 28) in [0, 1], train_label and test_label.

    Read from the folder that `gluon.data.vision.MNIST` uses, or from `path`; FileNotFoundError where the files are
    neither there nor can be fetched.
    """
    from .gluon.data.vision import MNIST

    result = {}
    for part, train in (("train", True), ("test", False)):
        dataset = MNIST(train=train) if path is None else MNIST(root=os.path.expanduser(path), train=train)
        images = dataset._data.asnumpy() if hasattr(dataset._data, "asnumpy") else np.asarray(dataset._data)
        labels = dataset._label.asnumpy() if hasattr(dataset._label, "asnumpy") else np.asarray(dataset._label)
        result[f"{part}_data"] = images.reshape(-1, 1, 28, 28).astype(np.float32) / 255
        result[f"{part}_label"] = labels.astype(np.int8)
    return result


def get_mnist_iterator(
    batch_size: int, input_shape: tuple[int, ...], num_parts: int = 1, part_index: int = 0, path: str | None = None
) -> tuple[NDArrayIter, NDArrayIter]:
    """Iterators over MNIST's training and test images of shape (784,) or (1, 28, 28); of one of `num_parts` parts."""
    mnist = get_mnist(path)
    found = []
    for part in ("train", "test"):
        data = mnist[f"{part}_data"].reshape(-1, *input_shape)[part_index::num_parts]
        labels = mnist[f"{part}_label"][part_index::num_parts].astype(np.float32)
        found.append(NDArrayIter(data, labels, batch_size, shuffle=part == "train"))
    return found[0], found[1]


class DummyIter(DataIter):
    """Gives the first batch of another iterator again and again."""

    def __init__(self, real_iter: Any) -> None:
        super().__init__(real_iter.batch_size)
        self.real_iter = real_iter
        self.provide_data, self.provide_label = real_iter.provide_data, real_iter.provide_label
        self.the_batch = next(real_iter)

    def __iter__(self) -> DummyIter:
        return self

    def next(self) -> Any:
        """The batch."""
        return self.the_batch

    __next__ = next


def is_aarch64_run() -> bool:
    """Whether this machine has an ARM processor."""
    return platform.machine() == "aarch64"


def shuffle_csr_column_indices(csr: Any) -> None:
    """Puts the column indices of each row of a SciPy matrix into random order, in place."""
    for begin, end in zip(csr.indptr[:-1], csr.indptr[1:], strict=True):
        rnd.shuffle(csr.indices[begin:end])


def new_orthonormal_matrix_2d(n: int) -> np.ndarray:
    """A random orthonormal matrix."""
    return np.linalg.qr(rnd.randn(n, n))[0]


def new_matrix_with_real_eigvals_2d(n: int) -> np.ndarray:
    """A random matrix with real eigenvalues between -10 and 10, whose eigenvectors are far from each other."""
    q = new_orthonormal_matrix_2d(n) * rnd.uniform(1, 2, size=n)
    return np.linalg.inv(q) @ np.diag(rnd.uniform(-10, 10, size=n)) @ q


def new_sym_matrix_with_real_eigvals_2d(n: int) -> np.ndarray:
    """A random symmetric matrix with eigenvalues 1, 2, …, n."""
    q = new_orthonormal_matrix_2d(n)
    return q @ np.diag(np.arange(1.0, n + 1)) @ q.T


def _batch(one: Any, shape: tuple[int, ...]) -> np.ndarray:
    return np.array([one(shape[-1]) for _ in range(int(np.prod(shape[:-2])))]).reshape(shape)


def new_matrix_with_real_eigvals_nd(shape: tuple[int, ...]) -> np.ndarray:
    """A batch of `new_matrix_with_real_eigvals_2d`."""
    return _batch(new_matrix_with_real_eigvals_2d, shape)


def new_sym_matrix_with_real_eigvals_nd(shape: tuple[int, ...]) -> np.ndarray:
    """A batch of `new_sym_matrix_with_real_eigvals_2d`."""
    return _batch(new_sym_matrix_with_real_eigvals_2d, shape)
