"""MXNet's readers."""

import importlib
import io
import os
import struct

import numpy as np

from tests.fuzz.table import READERS, lib, plain, reader
from tests.fuzz.worker import IMAGES, Setup

__all__ = ["READERS"]

_MXNET = ("MXNetError",)


def _arrays():
    nd = lib("mxnet").nd
    sparse = nd.sparse.row_sparse_array((np.ones((2, 3)), [0, 4]), shape=(6, 3))
    rows = nd.sparse.csr_matrix(([1.0, 2.0, 3.0], [0, 2, 1], [0, 2, 2, 3]), shape=(3, 4))
    return {"a": nd.ones((2, 3)), "b": nd.array([1], dtype="int64"), "s": sparse, "c": rows}


@reader("mxnet nd.load", "a.params")
def _(path):
    nd = lib("mxnet").nd
    nd.save(path, _arrays())
    return Setup(nd.load, None, _MXNET, 3 << 30)  # sparse arrays may take 2 GiB


def _npx(save):
    def make(path):
        mx = lib("mxnet")

        def scoped(function, *args):
            with mx.util.np_shape(True), mx.util.np_array(True):
                return function(*args)

        scoped(save, mx, path)
        return Setup(lambda p: scoped(mx.npx.load, p), None, _MXNET)

    return make


reader("mxnet npx.load", "n.params")(
    _npx(lambda mx, p: mx.npx.save(p, {"a": mx.np.ones((2, 3)), "b": mx.np.array(3.0)}))
)
reader("mxnet npx.load of .npz", "n.npz")(_npx(lambda mx, p: mx.npx.savez(p, a=mx.np.ones((2, 3)), b=mx.np.array(3.0))))


def _block():
    gluon = lib("mxnet").gluon
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Dense(3, in_units=2, activation="relu"), gluon.nn.BatchNorm(in_channels=3))
        net.add(gluon.nn.Dense(2, in_units=3))
    net.initialize()
    return net


def _block_state(net):
    return {name: (p.shape, plain(p.data().asnumpy())) for name, p in net.collect_params().items()}


@reader("mxnet load_parameters", "b.params")
def _(path):
    _block().save_parameters(path)
    net = _block()
    return Setup(net.load_parameters, lambda: _block_state(net), (*_MXNET, "AssertionError", "ValueError"))


@reader("mxnet symbol", "net-symbol.json")
def _(path):
    mx = lib("mxnet")
    x = mx.sym.var("x", shape=(2, 3))
    y = mx.sym.FullyConnected(mx.sym.exp(x, name="e"), num_hidden=2, name="f")
    mx.sym.Group([mx.sym.softmax(y, name="s"), x]).save(path)

    def read(p):
        return mx.sym.load(p).list_arguments()

    return Setup(read, None, _MXNET)


@reader("mxnet SymbolBlock", "block-symbol.json")
def _(path):
    mx = lib("mxnet")
    net = _block()
    net.hybridize()
    net(mx.nd.ones((1, 2)))
    net.export(path[: -len("-symbol.json")])
    params = path[: -len("-symbol.json")] + "-0000.params"
    return Setup(
        lambda p: mx.gluon.SymbolBlock.imports(p, ["data"], params), None, (*_MXNET, "AssertionError", "ValueError")
    )


@reader("mxnet records", "r.rec")
def _(path):
    recordio = lib("mxnet.recordio")
    record = recordio.MXRecordIO(path, "w")
    for i in range(5):
        record.write(recordio.pack(recordio.IRHeader(0, float(i), i, 0), bytes([i]) * (i + 3)))
        record.write(recordio.pack(recordio.IRHeader(0, np.arange(3.0), i, 0), b"x"))
    record.close()

    def read(p):
        record = recordio.MXRecordIO(p, "r")
        try:
            while (item := record.read()) is not None:
                try:
                    recordio.unpack(item)
                except lib("mxnet").MXNetError as error:  # which knows of no file
                    raise ValueError(f"{p}: {error}") from error
        finally:
            record.close()

    return Setup(read, None, (*_MXNET, "ValueError", "OSError"))


@reader("mxnet records by index", "i.idx")
def _(path):
    recordio = lib("mxnet.recordio")
    data = path[:-3] + "rec"
    record = recordio.MXIndexedRecordIO(path, data, "w")
    for i in range(5):
        record.write_idx(i, bytes([i]) * (i + 3))
    record.close()

    def read(p):
        record = recordio.MXIndexedRecordIO(p, data, "r")
        try:
            return [record.read_idx(key) for key in record.keys[:10]]
        finally:
            record.close()

    return Setup(read, None, (*_MXNET, "ValueError", "OSError"))


def _png(i=0):
    out = io.BytesIO()
    imaging = importlib.import_module("PIL.Image")
    imaging.fromarray(np.full((6, 6, 3), 10 * i, np.uint8)).save(out, "png")
    return out.getvalue()


@reader("mxnet image records", "im.rec")
def _(path):
    mx, recordio = lib("mxnet"), lib("mxnet.recordio")
    record = recordio.MXRecordIO(path, "w")
    for i in range(4):
        record.write(recordio.pack(recordio.IRHeader(0, float(i), i, 0), _png(i)))
    record.close()

    def read(p):
        batches = mx.io.ImageRecordIter(path_imgrec=p, data_shape=(3, 4, 4), batch_size=2, preprocess_threads=1)
        return [batch.data[0].asnumpy() for batch in batches]

    return Setup(read, None, (*_MXNET, "ValueError", "OSError"), IMAGES)


@reader("mxnet image", "im.png")
def _(path):
    mx = lib("mxnet")
    with open(path, "wb") as file:
        file.write(_png(3))
    return Setup(lambda p: mx.image.imread(p).asnumpy(), None, (*_MXNET, "ValueError", "OSError"), IMAGES)


@reader("mxnet image list", "im.lst")
def _(path):
    mx = lib("mxnet")
    for i in range(3):
        with open(os.path.join(os.path.dirname(path), f"im{i}.png"), "wb") as file:
            file.write(_png(i))
    with open(path, "w") as file:
        file.writelines(f"{i}\t{i}.0\tim{i}.png\n" for i in range(3))

    def read(p):
        batches = mx.image.ImageIter(1, (3, 4, 4), path_imglist=p, path_root=os.path.dirname(p))
        return [batch.data[0].asnumpy() for batch in batches]

    return Setup(read, None, (*_MXNET, "ValueError", "OSError", "RuntimeError"))


@reader("mxnet CSVIter", "t.csv")
def _(path):
    mx = lib("mxnet")
    with open(path, "w") as file:
        file.write("1,2,3\n4,5e-1,-6\n7,8,9\n1,1,1\n")

    def read(p):
        return [b.data[0].asnumpy() for b in mx.io.CSVIter(data_csv=p, data_shape=(3,), batch_size=2)]

    return Setup(read, None, _MXNET)


@reader("mxnet LibSVMIter", "t.libsvm")
def _(path):
    mx = lib("mxnet")
    with open(path, "w") as file:
        file.write("1 0:0.5 2:1.5\n0 1:2\n1 0:1 1:1 2:1\n-1 3:7\n")

    def read(p):
        return [b.data[0].asnumpy() for b in mx.io.LibSVMIter(data_libsvm=p, data_shape=(4,), batch_size=2)]

    return Setup(read, None, _MXNET)


@reader("mxnet MNISTIter", "images-idx3-ubyte")
def _(path):
    mx = lib("mxnet")
    labels = os.path.join(os.path.dirname(path), "labels")
    with open(path, "wb") as file:
        file.write(struct.pack(">IIII", 0x803, 4, 3, 3) + bytes(range(36)))
    with open(labels, "wb") as file:
        file.write(struct.pack(">II", 0x801, 4) + bytes([0, 1, 2, 3]))

    def read(p):
        return [b.data[0].asnumpy() for b in mx.io.MNISTIter(image=p, label=labels, batch_size=2, silent=True)]

    return Setup(read, None, _MXNET)


@reader("mxnet text embedding", "e.txt")
def _(path):
    text = lib("mxnet.contrib.text")
    with open(path, "w") as file:
        file.writelines(f"word{i} {i}.0 0.5 -1e-3\n" for i in range(6))
    errors = "ValueError", "AssertionError", "TypeError"
    return Setup(lambda p: text.embedding.CustomEmbedding(p).idx_to_vec.asnumpy(), None, errors)


@reader("mxnet model", "m-model.json")
def _(path):
    net, prefix = _block(), path[: -len("-model.json")]
    net.save(prefix)

    def state():
        return [net.name, list(net._children), list(net.collect_params())], _block_state(net)

    return Setup(lambda p: net.load(prefix), state, ("ValueError", "AssertionError", *_MXNET))
