"""Axes moved to other places."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native

_transpose = frontend.bind("transpose", dtype="any")


def _axes(axis, ndim, name):
    if not all(isinstance(a, int) for a in axis):
        raise TypeError(f"{name}: int or tuple of int are required. Actual: {axis!r}")
    axes = [a % ndim for a in axis]
    if len(set(axes)) != len(axes):
        raise ValueError(f"duplicate value in {name} axis: ({', '.join(map(str, axes))})")
    return axes


class Moveaxis(_native.NativeFunction):
    op = None

    def __init__(self, source, destination):
        super().__init__()
        self.source = (source,) if isinstance(source, int) else source
        self.destination = (destination,) if isinstance(destination, int) else destination

    def check_type_forward(self, in_types):
        _native.expect_floats(in_types, ("x",))
        for axis in (*self.source, *self.destination):
            _native.expect_axis(in_types[0], axis)

    def _run_bound(self, inputs):
        (x,) = inputs
        source = _axes(self.source, x.ndim, "source")
        destination = _axes(self.destination, x.ndim, "destination")
        if len(source) != len(destination):
            raise ValueError(
                f"Length of source and destination are different. Actual: {len(source)} and {len(destination)}"
            )
        order = [a for a in range(x.ndim) if a not in source]
        for to, a in sorted(zip(destination, source, strict=True)):
            order.insert(to, a)
        return _transpose._apply_as(self, x, order)


def moveaxis(x, source, destination):
    """`x` with the axes `source` (an int, a tuple) at the places `destination`; others keep their order.

    ValueError for axes given twice and for different numbers of them, TypeError for anything but ints.
    """
    return Moveaxis(source, destination).apply((x,))[0]
