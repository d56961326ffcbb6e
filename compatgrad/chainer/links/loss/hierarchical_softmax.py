from __future__ import annotations

import copy
import heapq
from typing import TYPE_CHECKING, Any

import numpy

import compatgrad.chainer as chainer
from compatgrad.chainer import device_resident, function, initializers, link, variable
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from compatgrad.chainer._typing import Array, DType, Tree, VariableOrArray
    from compatgrad.chainer.device_resident import DeviceResidentsVisitor
    from compatgrad.chainer.variable import Variable


class TreeParser:
    """Numbers the inner nodes of a binary tree of nested pairs.

    After `parse`, `paths[leaf]` are the nodes on the way to a leaf and `codes[leaf]` the turns: 1 left, -1 right.

    `BinaryHierarchicalSoftmax` parses its tree with this class.

    Args:
        dtype: of the codes.

    Example:
        >>> parser = chainer.links.loss.hierarchical_softmax.TreeParser(np.float32)
        >>> parser.parse(((0, 1), 2))
        >>> parser.size(), parser.get_paths()[1].tolist(), parser.get_codes()[1].tolist()
        (2, [0, 1], [1.0, -1.0])

    Source: `chainer.links.loss.hierarchical_softmax.TreeParser` of Chainer 7.8.1.
    """

    def __init__(self, dtype: DType) -> None:
        self.next_id = 0
        self.dtype = dtype

    def size(self) -> int:
        """The number of inner nodes."""
        return self.next_id

    def get_paths(self) -> dict[int, np.ndarray]:
        """For each leaf the int32 numbers of the inner nodes on the way to it, from the root."""
        return self.paths

    def get_codes(self) -> dict[int, np.ndarray]:
        """For each leaf the turns on the way to it, arrays of `dtype`: 1 is left, -1 right."""
        return self.codes

    def parse(self, tree: Tree) -> None:
        """Visits the tree. Raises ValueError if an inner node does not have two children."""
        self.next_id = 0
        self.paths = {}
        self.codes = {}
        todo = [(tree, [], [])]
        while todo:
            node, path, code = todo.pop()
            if not isinstance(node, tuple):
                self.paths[node] = numpy.array(path, dtype=numpy.int32)
                self.codes[node] = numpy.array(code, dtype=self.dtype)
                continue
            if len(node) != 2:
                raise ValueError("All internal nodes must have two child nodes")
            path = [*path, self.next_id]
            self.next_id += 1
            todo.append((node[1], path, [*code, -1.0]))
            todo.append((node[0], path, [*code, 1.0]))


class BinaryHierarchicalSoftmaxFunction(device_resident.DeviceResident, function.Function):
    """The loss of `BinaryHierarchicalSoftmax` as a function of (x, t, W): the sum of -log sigmoid(code * w x) over the
    nodes on the way to each label. x is floating-point of shape (batch, in_size), t int32 of shape (batch,), W of
    the dtype of x and shape (inner nodes, in_size); the result has shape ().

    Args:
        tree: nested pairs of integers, the labels.
        dtype: of the codes of the tree.

    Raises:
        ValueError: an inner node does not have two children.

    Example:
        >>> loss = chainer.links.loss.hierarchical_softmax.BinaryHierarchicalSoftmaxFunction((0, 1), np.float32)
        >>> x, W = np.ones((1, 2), np.float32), np.zeros((1, 2), np.float32)
        >>> float(loss(x, np.array([1], np.int32), W).array)  # log 2
        0.6931471824645996

    Source: `chainer.links.loss.hierarchical_softmax.BinaryHierarchicalSoftmaxFunction` of Chainer 7.8.1.
    """

    def __init__(self, tree: Tree, dtype: DType) -> None:
        device_resident.DeviceResident.__init__(self)
        parser = TreeParser(dtype)
        parser.parse(tree)
        paths, codes = parser.get_paths(), parser.get_codes()
        labels = sorted(paths)
        self.paths = numpy.concatenate([paths[label] for label in labels])
        self.codes = numpy.concatenate([codes[label] for label in labels])
        lengths = numpy.zeros(max(labels) + 2, dtype=numpy.int32)
        for label in labels:
            lengths[label + 1] = len(paths[label])
        self.begins = numpy.cumsum(lengths, dtype=numpy.int32)
        self.parser_size = parser.size()

    def check_type_forward(self, in_types: Any) -> None:
        type_check.expect(in_types.size() == 3)
        x_type, t_type, w_type = in_types
        type_check.expect(
            x_type.dtype.kind == "f",
            x_type.ndim == 2,
            t_type.dtype == numpy.int32,
            t_type.ndim == 1,
            x_type.shape[0] == t_type.shape[0],
            w_type.dtype == x_type.dtype,
            w_type.ndim == 2,
            w_type.shape[0] == self.parser_size,
            w_type.shape[1] == x_type.shape[1],
        )

    def device_resident_accept(self, visitor: DeviceResidentsVisitor) -> None:
        super().device_resident_accept(visitor)
        self.paths = visitor.visit_array(self.paths)
        self.codes = visitor.visit_array(self.codes)
        self.begins = visitor.visit_array(self.begins)

    def _nodes(self, xp, t):
        # The paths of all labels in one array: for each step its sample, its node and its turn.
        begins, lengths = self.begins[t], self.begins[t + 1] - self.begins[t]
        ends = xp.cumsum(lengths)
        total = int(ends[-1]) if len(t) else 0
        samples = xp.searchsorted(ends, xp.arange(total), side="right")
        positions = xp.arange(total) - (ends - lengths)[samples] + begins[samples]
        return samples, self.paths[positions], self.codes[positions]

    def forward(self, inputs: tuple[Array, ...]) -> tuple[Array]:
        x, t, W = inputs
        xp = chainer.backend.get_array_module(x)
        samples, nodes, codes = self._nodes(xp, t)
        wxy = (W[nodes] * x[samples]).sum(axis=1) * codes
        return (xp.asarray(xp.logaddexp(x.dtype.type(0), -wxy).sum(), dtype=x.dtype),)

    def backward(self, inputs: tuple[Array, ...], grad_outputs: tuple[Array, ...]) -> tuple[Array, None, Array]:
        x, t, W = inputs
        (gloss,) = grad_outputs
        xp = chainer.backend.get_array_module(x)
        samples, nodes, codes = self._nodes(xp, t)
        w, xs = W[nodes], x[samples]
        wxy = (w * xs).sum(axis=1) * codes
        g = (-gloss * codes / (1 + xp.exp(wxy))).astype(x.dtype)[:, numpy.newaxis]
        gx, gW = xp.zeros_like(x), xp.zeros_like(W)
        add_at = numpy.add.at if xp is numpy else xp.scatter_add
        add_at(gx, samples, g * w)
        add_at(gW, nodes, g * xs)
        return gx, None, gW


class BinaryHierarchicalSoftmax(link.Link):
    """Softmax over many labels by a binary tree: each inner node is a logistic regression, with one row of W, that
    decides between left and right. The loss is -log p, summed over the turns on the way to the label and over the
    batch.

    Inputs are a floating-point array of shape (batch, in_size) and int32 labels of shape (batch,); the result has shape
    ().

    Args:
        in_size: length of the input vectors.
        tree: nested pairs of integers, the labels, such as ((0, 1), 2).
        dtype: of the codes of the tree; None is `chainer.config.dtype`.

    Raises:
        ValueError: an inner node does not have two children.

    Example:
        >>> tree = L.BinaryHierarchicalSoftmax.create_huffman_tree({0: 8, 1: 5, 2: 6})
        >>> tree
        (0, (1, 2))
        >>> link = L.BinaryHierarchicalSoftmax(2, tree)
        >>> link.W.array[:] = 0  # every turn has probability 1 / 2
        >>> float(link(np.ones((1, 2), np.float32), np.array([0], np.int32)).array)
        0.6931471824645996

    Source: `chainer.links.BinaryHierarchicalSoftmax` of Chainer 7.8.1; Morin and Bengio, 2005.
    """

    def __init__(self, in_size: int, tree: Tree, dtype: DType | None = None) -> None:
        super().__init__()
        # forward copies it, because a Function can be called only once.
        self._func = BinaryHierarchicalSoftmaxFunction(tree, chainer.get_dtype(dtype))
        with self.init_scope():
            self.W = variable.Parameter(initializers.Uniform(1), (self._func.parser_size, in_size))

    def device_resident_accept(self, visitor: DeviceResidentsVisitor) -> None:
        super().device_resident_accept(visitor)
        self._func.device_resident_accept(visitor)

    @staticmethod
    def create_huffman_tree(word_counts: Mapping[int, int]) -> Tree:
        """Huffman tree of a dict of counts by label. Raises ValueError for an empty one."""
        if not word_counts:
            raise ValueError("Empty vocabulary")
        # The number orders words of equal count, which may not be comparable.
        heap = [(count, number, word) for number, (word, count) in enumerate(word_counts.items())]
        heapq.heapify(heap)
        while len(heap) >= 2:
            count1, number1, word1 = heapq.heappop(heap)
            count2, number2, word2 = heapq.heappop(heap)
            heapq.heappush(heap, (count1 + count2, min(number1, number2), (word1, word2)))
        return heap[0][2]

    def forward(self, x: VariableOrArray, t: VariableOrArray) -> Variable:
        """The loss of (batch, in_size) and int32 labels (batch,)."""
        return copy.copy(self._func)(x, t, self.W)
