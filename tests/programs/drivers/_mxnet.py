"""What drivers of MXNet programs share."""

import os
import threading

import mxnet as mx
import numpy as np

REAL = os.environ.get("CHAINER_DTYPE", "float32")  # the type of numbers of which nothing else is said


def double():
    """Give new arrays and parameters the type `REAL` where MXNet would choose float32."""

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
    """The numbers of a distribution, and the shape that they have (and each sample appends its own to)."""
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
    """Let NumPy draw what MXNet draws, so that the same numbers come there and here; and let those be
    float64 where the harness asks for it."""
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
    """For programs that name a GPU wherever they run."""
    mx.gpu = lambda *_: mx.cpu()


def no_dropout(net):
    """Whose masks would be others there and here."""

    def still(block):
        if isinstance(block, mx.gluon.nn.Dropout):
            block._rate = 0.0

    net.apply(still)


def perturb(run, *models):
    """Let `run` perturb the parameters of Blocks, whose shapes must be known, and of bound Modules."""
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
    """The steps of a program's own loop: `body(report)` runs it, and calls `report` with a dictionary at each step."""
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
