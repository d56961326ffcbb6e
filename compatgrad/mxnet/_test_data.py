"""Data and matrices for tests and examples."""

from __future__ import annotations

import os
import platform
from typing import Any

import numpy as np
import numpy.random as rnd

from ._docs import sharing
from .io import DataIter, NDArrayIter

__all__ = [
    "DummyIter", "get_mnist", "get_mnist_iterator", "is_aarch64_run", "new_matrix_with_real_eigvals_2d",
    "new_matrix_with_real_eigvals_nd", "new_orthonormal_matrix_2d", "new_sym_matrix_with_real_eigvals_2d",
    "new_sym_matrix_with_real_eigvals_nd", "shuffle_csr_column_indices",
]  # fmt: skip


def get_mnist(path: str | None = None) -> dict[str, np.ndarray]:
    """MNIST as NumPy arrays.

    Args:
        path: the folder of its files; None for that of `gluon.data.vision.MNIST`.

    Returns:
        A dict: `train_data` and `test_data`, float32 in [0, 1] of shape (n, 1, 28, 28), `train_label` and `test_label`,
            int8 of shape (n,).

    Raises:
        FileNotFoundError: the files are neither there nor can be fetched.

    Example:
        With the files of MNIST, or with network access::

            mx.test_utils.get_mnist()["train_data"].shape  # (60000, 1, 28, 28)

    Source: `mxnet.test_utils.get_mnist` of MXNet 1.9.1.
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
    """Iterators over the training and test images of MNIST.

    Args:
        batch_size: images in a batch.
        input_shape: shape of an image, (784,) or (1, 28, 28).
        num_parts: number of parts that the images are dealt out to.
        part_index: the part of this iterator, from 0.
        path: the folder of the files; None for that of `gluon.data.vision.MNIST`.

    Returns:
        Two NDArrayIter; the first one shuffles.

    Raises:
        FileNotFoundError: the files are neither there nor can be fetched.

    Example:
        With the files of MNIST, or with network access::

            train, test = mx.test_utils.get_mnist_iterator(100, (784,))

    Source: `mxnet.test_utils.get_mnist_iterator` of MXNet 1.9.1.
    """
    mnist = get_mnist(path)
    found = []
    for part in ("train", "test"):
        data = mnist[f"{part}_data"].reshape(-1, *input_shape)[part_index::num_parts]
        labels = mnist[f"{part}_label"][part_index::num_parts].astype(np.float32)
        found.append(NDArrayIter(data, labels, batch_size, shuffle=part == "train"))
    return found[0], found[1]


class DummyIter(DataIter):
    """Gives the first batch of another iterator again and again, without end.

    Args:
        real_iter: the iterator.

    Raises:
        StopIteration: the iterator is at its end.

    Example:
        >>> batches = mx.test_utils.DummyIter(mx.io.NDArrayIter(np.array([1, 2, 3, 4]), batch_size=2))
        >>> [next(batches).data[0].asnumpy().tolist() for _ in range(3)]
        [[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]

    Source: `mxnet.test_utils.DummyIter` of MXNet 1.9.1.
    """

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
    """Whether this machine has an ARM processor of 64 bits.

    Returns:
        A bool.

    Example:
        >>> import platform
        >>> mx.test_utils.is_aarch64_run() == (platform.machine() == "aarch64")
        True

    Source: `mxnet.test_utils.is_aarch64_run` of MXNet 1.9.1.
    """
    return platform.machine() == "aarch64"


def shuffle_csr_column_indices(csr: Any) -> None:
    """Puts the column indices of each row of a sparse matrix into random order, in place; the data stay.

    Args:
        csr: what has NumPy arrays `indptr` and `indices`, such as SciPy's matrices in CSR format.

    Raises:
        AttributeError: `csr` lacks them.

    Example:
        >>> from types import SimpleNamespace
        >>> csr = SimpleNamespace(indptr=np.array([0, 1, 3]), indices=np.array([2, 0, 1]))
        >>> mx.test_utils.shuffle_csr_column_indices(csr)
        >>> sorted(csr.indices[1:].tolist())
        [0, 1]

    Source: `mxnet.test_utils.shuffle_csr_column_indices` of MXNet 1.9.1.
    """
    for begin, end in zip(csr.indptr[:-1], csr.indptr[1:], strict=True):
        rnd.shuffle(csr.indices[begin:end])


_SQUARE = """
    Args:
        n: number of its rows.

    Returns:
        A float64 array of shape (n, n).

    Raises:
        ValueError: `n` is negative.

    Source: `mxnet.test_utils.{name}` of MXNet 1.9.1.
    """


@sharing(_SQUARE)
def new_orthonormal_matrix_2d(n: int) -> np.ndarray:
    """A random orthonormal matrix.

    Example:
        >>> q = mx.test_utils.new_orthonormal_matrix_2d(3)
        >>> np.allclose(q @ q.T, np.eye(3))
        True
    """
    return np.linalg.qr(rnd.randn(n, n))[0]


@sharing(_SQUARE)
def new_matrix_with_real_eigvals_2d(n: int) -> np.ndarray:
    """A random matrix with real eigenvalues between -10 and 10, whose eigenvectors are far from each other.

    Example:
        >>> np.linalg.eigvals(mx.test_utils.new_matrix_with_real_eigvals_2d(3)).dtype
        dtype('float64')
    """
    q = new_orthonormal_matrix_2d(n) * rnd.uniform(1, 2, size=n)
    return np.linalg.inv(q) @ np.diag(rnd.uniform(-10, 10, size=n)) @ q


@sharing(_SQUARE)
def new_sym_matrix_with_real_eigvals_2d(n: int) -> np.ndarray:
    """A random symmetric matrix with eigenvalues 1, 2, …, n.

    Example:
        >>> np.linalg.eigvalsh(mx.test_utils.new_sym_matrix_with_real_eigvals_2d(3)).round(6)
        array([1., 2., 3.])
    """
    q = new_orthonormal_matrix_2d(n)
    return q @ np.diag(np.arange(1.0, n + 1)) @ q.T


def _batch(one: Any, shape: tuple[int, ...]) -> np.ndarray:
    return np.array([one(shape[-1]) for _ in range(int(np.prod(shape[:-2])))]).reshape(shape)


_BATCH = """
    Args:
        shape: shape of the batch; its last two lengths are equal.

    Returns:
        A float64 array of that shape.

    Raises:
        ValueError: the last two lengths differ.

    Source: `mxnet.test_utils.{name}` of MXNet 1.9.1.
    """


@sharing(_BATCH)
def new_matrix_with_real_eigvals_nd(shape: tuple[int, ...]) -> np.ndarray:
    """A batch of matrices as `new_matrix_with_real_eigvals_2d` gives them.

    Example:
        >>> mx.test_utils.new_matrix_with_real_eigvals_nd((4, 3, 3)).shape
        (4, 3, 3)
    """
    return _batch(new_matrix_with_real_eigvals_2d, shape)


@sharing(_BATCH)
def new_sym_matrix_with_real_eigvals_nd(shape: tuple[int, ...]) -> np.ndarray:
    """A batch of matrices as `new_sym_matrix_with_real_eigvals_2d` gives them.

    Example:
        >>> mx.test_utils.new_sym_matrix_with_real_eigvals_nd((4, 3, 3)).shape
        (4, 3, 3)
    """
    return _batch(new_sym_matrix_with_real_eigvals_2d, shape)
