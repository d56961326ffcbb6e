"""Einstein summation."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Any

from compatgrad.chainer import backend
from compatgrad.chainer.functions import _bound, _native
from compatgrad.chainer.functions.array.broadcast import broadcast_to
from compatgrad.chainer.functions.array.cast import promoted
from compatgrad.chainer.functions.math.matmul import matmul
from compatgrad.chainer.utils import size_of_shape, type_check

if TYPE_CHECKING:
    from compatgrad.chainer.variable import Variable

_LETTERS = string.ascii_uppercase + string.ascii_lowercase


def _axes(subscripts):
    """Yields (axis, letter) for each letter of one operand's subscripts, and (slice, "@") for the ellipsis."""
    before, ellipsis, after = subscripts.partition("@")
    yield from enumerate(before)
    if ellipsis:
        yield slice(len(before), -len(after) or None), "@"
        for i, letter in enumerate(after):
            yield i - len(after), letter


def _labels(subscripts, ndim):
    """One label per axis: a letter, or a number for the axes of the ellipsis."""
    axes = range(ndim)
    labels = [None] * ndim
    for axis, letter in _axes(subscripts):
        if letter == "@":
            for i, a in enumerate(axes[axis]):
                labels[a] = i
        else:
            labels[axis] = letter
    return labels


class _Operand:
    """A Variable or array with a label for each of its axes."""

    def __init__(self, x, labels):
        for label in set(labels):
            while labels.count(label) > 1:
                i = labels.index(label)
                j = labels.index(label, i + 1)
                x = _bound.diagonal(x, 0, i, j)
                labels = [la for k, la in enumerate(labels) if k not in (i, j)] + [label]
        self.x = x
        self.labels = labels

    def size(self, label):
        return self.x.shape[self.labels.index(label)]

    def only(self, wanted):
        """The operand summed over all labels that are not in `wanted`."""
        kept = [label for label in self.labels if label in wanted]
        if len(kept) == len(self.labels):
            return self
        shape = [self.size(label) for label in kept]
        summed = [label for label in self.labels if label not in wanted]
        n = size_of_shape([self.size(label) for label in summed])
        x = _bound.reshape(self.ordered(kept + summed), [size_of_shape(shape), n])
        # a matrix product rather than the op "sum": the gradient of "sum" is a read-only view of one number, while
        # programs may write to the gradient of Chainer's einsum
        ones = backend.get_array_module(x).ones((n, 1), x.dtype)
        return _Operand(_bound.reshape(matmul(x, ones), shape), kept)

    def ordered(self, labels):
        if labels == self.labels:
            return self.x
        return _bound.transpose(self.x, [self.labels.index(label) for label in labels])

    def times(self, other, wanted):
        """The product of both operands, summed over the labels that are not in `wanted`."""
        a, b = self.only({*wanted, *other.labels}), other.only({*wanted, *self.labels})
        both = [label for label in a.labels if label in b.labels]
        batch = [label for label in both if label in wanted]
        summed = [label for label in both if label not in wanted]
        a_only = [label for label in a.labels if label not in both]
        b_only = [label for label in b.labels if label not in both]
        shape = [a.size(label) for label in batch]
        a_shape, b_shape = [a.size(label) for label in a_only], [b.size(label) for label in b_only]
        x, y = a.ordered(batch + a_only + summed), b.ordered(batch + summed + b_only)
        if summed:
            n = size_of_shape([a.size(label) for label in summed])
            x = _bound.reshape(x, [*shape, size_of_shape(a_shape), n])
            y = _bound.reshape(y, [*shape, n, size_of_shape(b_shape)])
            z = _bound.reshape(matmul(x, y), shape + a_shape + b_shape)
        else:
            x = _bound.reshape(x, shape + a_shape + [1] * len(b_only))
            y = _bound.reshape(y, shape + [1] * len(a_only) + b_shape)
            z = _bound.mul(x, y)
        return _Operand(z, batch + a_only + b_only)


def _einsum(in_subs, out_labels, inputs):
    operands = [_Operand(x, _labels(s, x.ndim)) for s, x in zip(in_subs, promoted(*inputs), strict=True)]
    result = operands.pop(0)
    while operands:
        operand = operands.pop(0)
        result = result.times(operand, {*out_labels, *[label for o in operands for label in o.labels]})
    return result.only(set(out_labels)).ordered(out_labels)


class EinSum(_native.NativeFunction):
    """The node of `chainer.functions.einsum` in the graph, its result's `creator`.

    Args:
        in_subs: the letters of all operands, separated by commas; `@` is an ellipsis.
        out_sub: the letters of the result.

    Example:
        >>> F.math.einsum.EinSum("ij", "j").apply((np.array([[1.0, 2.0], [3.0, 4.0]]),))[0].array
        array([4., 6.])

    Source: `chainer.functions.math.einsum.EinSum` of Chainer 7.8.1.
    """

    def __init__(self, in_subs: str, out_sub: str) -> None:
        super().__init__()
        self.in_subs = in_subs
        self.out_sub = out_sub

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        for i, t in enumerate(in_types):
            type_check._argname((t,), (f"x{i}",))
            type_check.expect(t.dtype.kind == "f")
        in_subs = self.in_subs.split(",")
        type_check.expect(in_types.size() == len(in_subs))
        known = {}
        for subscripts, t in zip(in_subs, in_types, strict=True):
            for axis, letter in _axes(subscripts):
                shape = t.shape[axis]
                type_check.expect(known.setdefault(letter, shape) == shape)

    def _run_bound(self, inputs):
        in_subs = self.in_subs.split(",")
        ellipsis = 0
        for subscripts, x in zip(in_subs, inputs, strict=True):
            if "@" in subscripts:
                ellipsis = x.ndim - len(subscripts) + 1
        if ellipsis and "@" not in self.out_sub:
            raise ValueError("einsum should not support summing over Ellipsis: name it in the output")
        ndim = len(self.out_sub) + (ellipsis - 1 if "@" in self.out_sub else 0)
        return _einsum(in_subs, _labels(self.out_sub, ndim), inputs)


class DiagEinSum(EinSum):
    """An `EinSum` whose result is repeated along letters that no operand has.

    Args:
        in_subs: as in `EinSum`.
        out_sub: the letters of the result.
        out_shape: its shape.

    Example:
        >>> F.math.einsum.DiagEinSum("i", "ji", (2, 2)).apply((np.array([1.0, 2.0]),))[0].array
        array([[1., 2.],
               [1., 2.]])

    Source: `chainer.functions.math.einsum.DiagEinSum` of Chainer 7.8.1.
    """

    def __init__(self, in_subs: str, out_sub: str, out_shape: tuple[int, ...]) -> None:
        super().__init__(in_subs, out_sub)
        self.out_shape = out_shape

    def _run_bound(self, inputs):
        found = [letter for letter in self.out_sub if letter in self.in_subs]
        y = _einsum(self.in_subs.split(","), found, inputs)
        shape = [n if s in found else 1 for s, n in zip(self.out_sub, self.out_shape, strict=True)]
        return _bound.copy(broadcast_to(_bound.reshape(y, shape), self.out_shape))


def _letters(subscripts):
    """Turns subscripts that are given as ints and Ellipsis into letters."""
    if not all(s is Ellipsis or isinstance(s, int) for s in subscripts):
        raise TypeError("For this input type lists must contain either int or Ellipsis")
    return "".join(["@" if s is Ellipsis else _LETTERS[s] for s in subscripts])


def _parse(operands):
    """Returns the operands' subscripts, the result's subscripts and the operands, for either form of the call of
    `einsum`."""
    if not operands:
        raise ValueError("No input operands")
    if isinstance(operands[0], str):
        text, operands = operands[0].replace(" ", ""), operands[1:]
        for s in text:
            if s not in _LETTERS and s not in ".,->":
                raise ValueError(f"Character {s} is not a valid symbol.")
        ins, arrow, out = text.replace("...", "@").partition("->")
        if any(s in ins + out for s in "->"):
            raise ValueError(f"Subscripts can only contain one '->'. Actual: {text!r}")
        if "." in ins + out:
            raise ValueError("Invalid Ellipses.")
    else:
        pairs = len(operands) // 2 * 2
        ins = ",".join([_letters(s) for s in operands[1:pairs:2]])
        arrow = len(operands) > pairs
        out = _letters(operands[-1]) if arrow else ""
        operands = operands[:pairs:2]
    if not arrow:
        letters = ins.replace(",", "")
        out = "".join([s for s in sorted(set(letters)) if s == "@" or letters.count(s) == 1])
    for s in out:
        if s not in ins:
            raise ValueError(f"Output character {'...' if s == '@' else s} did not appear in the input")
    if ins.count(",") + 1 != len(operands):
        raise ValueError(
            "Number of einsum subscripts must be equal to the number of operands. "
            f"Actual: {ins.count(',') + 1} and {len(operands)}"
        )
    return ins, out, operands


def einsum(*operands: Any) -> Variable:
    """Sums of products, by Einstein's convention.

    Like numpy.einsum, but operands are not broadcast and an ellipsis is not summed over.

    Args:
        *operands: a string of subscripts, such as "ij,jk->ik", and the Variables or arrays; or each of these followed
            by a list of ints and Ellipsis, and perhaps such a list for the result. All are floating.

    Returns:
        Variable of the dtype to which NumPy promotes the operands.

    Raises:
        ValueError: no operands are given, the subscripts are malformed, or their number differs from that of the
            operands.
        TypeError: a list has other entries.
        IndexError: an operand has fewer axes than subscripts.
        chainer.utils.type_check.InvalidType: an operand is not floating-point, or axes of the same letter differ in
            length.

    Example:
        >>> a, b = np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])
        >>> F.einsum("ij,jk->ik", a, b).array
        array([[11.]])
        >>> F.einsum(a, [0, 1], b, [1, 2], [0, 2]).array
        array([[11.]])

    Source: `chainer.functions.einsum` of Chainer 7.8.1.
    """
    in_subs, out_sub, inputs = _parse(operands)
    return EinSum(in_subs, out_sub).apply(tuple(inputs))[0]
