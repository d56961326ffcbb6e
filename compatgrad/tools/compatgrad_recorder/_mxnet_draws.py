"""Lets NumPy draw MXNet's random numbers, so that both sides have the same.

Where operators run at once, dropout draws its masks by NumPy, too; therefore blocks are not compiled. In symbols, and
inside of fused recurrent layers, dropout is off.
"""

import functools
import zlib
from typing import Any

import numpy as np

from ._recorder import Recorder

DRAWN = {  # names of the parameters and their defaults; NumPy's generators have the same names
    "uniform": (("low", 0.0), ("high", 1.0)),
    "normal": (("loc", 0.0), ("scale", 1.0)),
    "gamma": (("alpha", 1.0), ("beta", 1.0)),
    "poisson": (("lam", 1.0),),
    "exponential": (("scale", 1.0),),
    "randint": (("low", 0), ("high", 2)),
}


def draw_by_numpy(rec: Recorder, mx: Any) -> None:
    rec.note("MXNet's random numbers, initial weights too, were drawn by NumPy on both sides (--sync off: by MXNet)")
    rng = np.random.RandomState(rec.options.seed)
    replace_distributions(mx, rng)
    replace_functions(mx, rng)
    replace_dropout(rec, mx, rng)
    seed_and_initialize(rec, mx, rng)
    keep_blocks_plain(rec, mx)


def drawn(mx: Any, rng: Any, kind: str, array: Any) -> Any:
    """The function of a distribution, whose results are made by `array`."""
    names = [name for name, _ in DRAWN[kind]]

    def draw(*args: Any, **named: Any) -> Any:
        values = list(args[: len(names)]) + [named.get(n, d) for n, d in DRAWN[kind][len(args) :]]
        out = named.get("out")
        shape = named.get("shape", named.get("size", args[len(names)] if len(args) > len(names) else None))
        given = np.broadcast_arrays(*[v.asnumpy() if hasattr(v, "asnumpy") else v for v in values])
        own, size = given[0].shape, size_of(shape) if out is None else out.shape
        if out is not None and own:
            own, size = own, size[len(own) :]
        columns = [a.reshape(own + (1,) * len(size)) for a in given]
        found = np.asarray(getattr(rng, kind)(*columns, size=own + size))
        dtype = named.get("dtype")
        if not isinstance(dtype, (str, type)):
            dtype = "int32" if kind == "randint" else "float32"
        if not found.shape and array is mx.nd.array:
            found = found.reshape(1)
        y = array(found, dtype=dtype, ctx=named.get("ctx") if isinstance(named.get("ctx"), mx.Context) else None)
        if out is None:
            return y
        out[:] = y
        return out

    draw.__name__, draw.__module__ = kind, "mxnet.ndarray.random"
    return draw


def size_of(value: Any) -> Any:
    if isinstance(value, (int, np.integer)):
        return (int(value),)
    return tuple(value) if isinstance(value, (tuple, list)) else ()


def replace_distributions(mx: Any, rng: Any) -> None:
    nd = mx.nd
    for kind in DRAWN:
        draw = drawn(mx, rng, kind, nd.array)
        for module in (mx.random, nd.random):
            if hasattr(module, kind):
                setattr(module, kind, draw)
        setattr(nd, "random_" + kind, draw)
        setattr(mx.np.random, kind, drawn(mx, rng, kind, mx.np.array))
        if kind in vars(mx.optimizer.optimizer):
            setattr(mx.optimizer.optimizer, kind, draw)
    nd.uniform, nd.normal = nd.random.uniform, nd.random.normal


def replace_functions(mx: Any, rng: Any) -> None:
    nd = mx.nd

    def randn(*shape: Any, **named: Any) -> Any:
        return nd.random.normal(named.get("loc", 0.0), named.get("scale", 1.0), shape=shape or (1,))

    def shuffle(data: Any, **_: Any) -> Any:
        return nd.take(data, nd.array(rng.permutation(data.shape[0])))

    shuffle.__module__ = randn.__module__ = "mxnet.ndarray"
    nd.random.randn = mx.random.randn = randn
    nd.random.shuffle = nd.shuffle = mx.random.shuffle = shuffle


def replace_dropout(rec: Recorder, mx: Any, rng: Any) -> None:
    nd = mx.nd

    def dropout(data: Any, p: Any = 0.5, mode: Any = "training", axes: Any = (), **_: Any) -> Any:
        if not p or not (mx.autograd.is_training() or mode == "always"):
            return nd.identity(data) if type(data) is nd.NDArray else data * 1
        shape = [1 if i in tuple(axes or ()) else n for i, n in enumerate(data.shape)]
        make = nd.array if type(data) is nd.NDArray else mx.np.array
        mask = make((rng.uniform(size=shape) >= p) / (1 - p), dtype=data.dtype, ctx=data.ctx)
        return nd.broadcast_mul(data, mask) if type(data) is nd.NDArray else data * mask

    def without_dropout(f: Any, what: str) -> Any:
        @functools.wraps(f)
        def call(*args: Any, **named: Any) -> Any:
            if named.get("p") or (what == "Dropout" and named.get("p") is None):
                rec.note("dropout in symbols and in fused recurrent layers was off on both sides (--sync off keeps it)")
                named["p"] = 0.0
            return f(*args, **named)

        return call

    dropout.__name__, dropout.__module__ = "Dropout", "mxnet.ndarray"
    nd.Dropout = mx.npx.dropout = dropout
    if "numpy_extension" in vars(nd):  # where MXNet's blocks look
        nd.numpy_extension.dropout = dropout
    mx.sym.Dropout = without_dropout(mx.sym.Dropout, "Dropout")
    nd.RNN, mx.sym.RNN = without_dropout(nd.RNN, "RNN"), without_dropout(mx.sym.RNN, "RNN")


def seed_and_initialize(rec: Recorder, mx: Any, rng: Any) -> None:
    plain_seed, plain_initialize = mx.random.seed, mx.init.Initializer.__call__

    def seed(value: Any, ctx: Any = "all") -> None:
        rng.seed(int(value) % 2**32)
        plain_seed(value, ctx)

    def initialize(self: Any, desc: Any, arr: Any) -> None:
        """Draws an initial value from a generator of its own, since the sides may initialize in different orders."""
        state = rng.get_state()
        rng.seed((zlib.crc32(str(desc).encode()) + rec.options.seed) % 2**32)
        try:
            plain_initialize(self, desc, arr)
        finally:
            rng.set_state(state)

    mx.random.seed, mx.init.Initializer.__call__ = seed, initialize


def keep_blocks_plain(rec: Recorder, mx: Any) -> None:
    block = mx.gluon.HybridBlock
    plain_hybridize, plain_export = block.hybridize, block.export

    def hybridize(self: Any, active: Any = True, **_: Any) -> None:
        plain_hybridize(self, False)

    def export(self: Any, *args: Any, **named: Any) -> Any:
        try:
            return plain_export(self, *args, **named)
        except RuntimeError:  # only compiled blocks can be exported
            rec.note(
                "HybridBlock.export wrote no files, as blocks were not compiled on either side (--sync off: they are)"
            )
            return None

    block.hybridize, block.export = hybridize, export
