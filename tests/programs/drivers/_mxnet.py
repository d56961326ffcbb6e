"""Helpers for the drivers of MXNet programs."""

import os
import threading

import mxnet as mx
import numpy as np

REAL = os.environ.get("CHAINER_DTYPE", "float32")  # the default floating dtype


def double():
    """Create arrays and parameters in the dtype `REAL` where MXNet's default is float32."""

    def of_type(make):
        def made(*args, **named):
            copies = make.__name__ == "array" and hasattr(args[0], "dtype") and not isinstance(args[0], np.ndarray)
            if named.get("dtype") is None and len(args) < 3 and not copies:
                named["dtype"] = REAL
            return make(*args, **named)

        return made

    for module, names in (
        (mx.nd, "array zeros ones full empty arange eye one_hot"),
        (mx.sym, "zeros ones full arange eye one_hot"),
        (mx.np, "array zeros ones full arange"),
    ):
        for name in names.split():
            setattr(module, name, of_type(getattr(module, name)))
    get = mx.gluon.ParameterDict.get

    def parameter(self, name, **options):
        if options.get("dtype") in (None, "float32", np.float32):
            options["dtype"] = REAL
        return get(self, name, **options)

    mx.gluon.ParameterDict.get = parameter
    mx.io.DataDesc.__new__.__defaults__ = (np.dtype(REAL).type, "NCHW")


def _shape(shape):
    if shape is None or isinstance(shape, type(mx.base._Null)):
        return ()
    return (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)


def _parameters(values):
    """Broadcast the parameters of a distribution. Return them and their shape, which samples' shapes begin with."""
    arrays = np.broadcast_arrays(*[v.asnumpy() if hasattr(v, "asnumpy") else v for v in values])
    return arrays, arrays[0].shape


def _drawn(sample, names, defaults, array):
    def draw(*args, out=None, ctx=None, **named):
        args = list(args)
        if "shape" not in named and len(args) > len(names):
            named["shape"] = args[len(names)]
        values = [named.get(n, d) for n, d in zip(names, defaults, strict=True)]
        values[: len(args)] = args[: len(names)]
        shape = out.shape if out is not None else _shape(named.get("shape", named.get("size")))
        arrays, own = _parameters(values)
        columns = [a.reshape(own + (1,) * len(shape)) for a in arrays]
        dtype = named.get("dtype") if isinstance(named.get("dtype"), (str, type)) else REAL
        drawn = array(sample(*columns, size=own + shape).reshape(own + shape or (1,)), ctx=ctx, dtype=dtype)
        if out is None:
            return drawn
        out[:] = drawn
        return out

    return draw


def streams(seed=0):
    """Replace MXNet's random functions by NumPy's, for the same numbers on both sides, in float64 if the harness asks
    for it."""
    if REAL == "float64":
        double()
    rng = np.random.RandomState(seed)
    kinds = {
        "uniform": (rng.uniform, ("low", "high"), (0.0, 1.0)),
        "normal": (rng.normal, ("loc", "scale"), (0.0, 1.0)),
    }
    for name, kind in kinds.items():
        draw = _drawn(*kind, array=mx.nd.array)
        for module in (mx.random, mx.nd.random):
            setattr(module, name, draw)
        setattr(mx.nd, f"random_{name}", draw)
        setattr(mx.np.random, name, _drawn(*kind, array=mx.np.array))
        if name in vars(mx.optimizer.optimizer):
            setattr(mx.optimizer.optimizer, name, draw)
    mx.nd.uniform, mx.nd.normal = mx.nd.random.uniform, mx.nd.random.normal
    return rng


def on_cpu():
    """Let mx.gpu return the CPU, for programs that always use a GPU."""
    mx.gpu = lambda *_: mx.cpu()


def no_dropout(net):
    """Turn off dropout, whose masks would differ between the original and here."""

    def still(block):
        if isinstance(block, mx.gluon.nn.Dropout):
            block._rate = 0.0

    net.apply(still)


def perturb(run, *models):
    """Perturb the parameters of Blocks with known shapes and of bound Modules by `run`."""
    array = mx.np.array if mx.util.is_np_array() else mx.nd.array
    for model in models:
        if isinstance(model, mx.gluon.Block):
            parameters = list(model.collect_params().values())
            arrays = run.perturb(np.array(p.data().asnumpy()) for p in parameters)
            for p, a in zip(parameters, arrays, strict=True):
                p.set_data(array(a, dtype=a.dtype))
        else:
            args, states = model.get_params()
            names = sorted(args)
            arrays = run.perturb(np.array(args[name].asnumpy()) for name in names)
            model.set_params({name: mx.nd.array(a) for name, a in zip(names, arrays, strict=True)}, states)


def mean(loss):
    return float(np.mean(loss.asnumpy()))


def stepwise(body):
    """Yield the steps of a program's own loop: `body(report)` runs it, and calls `report(dictionary)` per step."""
    go, done, box = threading.Semaphore(0), threading.Semaphore(0), []

    def report(values):
        box.append(values)
        done.release()
        go.acquire()

    def run():
        go.acquire()
        try:
            body(report)
        except BaseException as e:
            box.append(e)
        done.release()

    threading.Thread(target=run, daemon=True).start()
    while True:
        go.release()
        done.acquire()
        if not box:
            return
        values = box.pop()
        if isinstance(values, BaseException):
            raise values
        yield values
