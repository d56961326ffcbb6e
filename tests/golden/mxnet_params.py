"""What real MXNet 1.9.1 writes into .params files and symbol files, and what it reads of compatgrad's.

    PYTHON -m tests.golden.mxnet_params [FOLDER]

PYTHON is an interpreter in which real MXNet runs. Without FOLDER it records the folder mxnet_params beside this file;
with it, it checks the files that compatgrad wrote there with `save_files`.
"""

import pathlib
import sys

import numpy as np

GOLDEN = pathlib.Path(__file__).with_name("mxnet_params")
DTYPES = ["float32", "float64", "float16", "uint8", "int8", "int32", "int64", "bool"]


def arrays(mx):
    """What the files hold: name -> array or list or dict."""
    nd = mx.nd
    r = np.random.RandomState(0)
    every = {d: nd.array((r.randn(2, 3) * 5 + 5).astype(d), dtype=d) for d in DTYPES}
    dense = np.array([[0, 1.5, 0], [0, 0, 0], [2, 0, -3]], dtype="float32")
    csr = nd.sparse.csr_matrix(([1.5, 0.0, -3.0], [1, 0, 2], [0, 1, 1, 3]), shape=(3, 3))
    rows = nd.sparse.row_sparse_array(([[1.0, 2.0], [0.0, 0.0]], [1, 3]), shape=(5, 2))
    return {
        "types": every,
        "list": [nd.array([1.0, 2.0]), nd.array(np.zeros((0, 3))), nd.array([[[5.0]]])],
        "one": nd.array([7.0], dtype="float64"),
        "empty": [],
        "names": {"arg:weight": nd.ones((2,)), "aux:größe": nd.zeros((1, 2)), "": nd.ones((1,))},
        "sparse": {
            "csr": csr,
            "rows": rows,
            "cast_csr": nd.array(dense).tostype("csr"),
            "cast_rows": nd.array(dense, dtype="float64").tostype("row_sparse"),
            "zero_csr": nd.zeros((3, 2), stype="csr"),
            "zero_rows": nd.zeros((3, 2), stype="row_sparse"),
        },
    }


def np_arrays(mx):
    """What the files under NumPy's shape semantics hold."""
    np_ = mx.np
    return {"np": {"scalar": np_.array(3.5), "empty": np_.zeros((0, 2)), "ints": np_.array([1, 2], dtype="int32")}}


def network(mx):
    """A symbol, and shapes of its inputs."""
    sym = mx.sym
    x = sym.Variable("data")
    x = sym.Convolution(x, kernel=(3, 3), num_filter=4, pad=(1, 1), name="conv")
    x = sym.BatchNorm(x, fix_gamma=False, name="bn")
    x = sym.Activation(x, act_type="relu", name="act")
    x = sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool")
    a, b = sym.split(x, num_outputs=2, axis=1, name="halves")
    x = sym.concat(a * 2.0, b - a, dim=1, name="joined")
    x = sym.FullyConnected(sym.flatten(x, name="flat"), num_hidden=3, name="fc")
    return sym.softmax(x, name="prob"), {"data": (2, 3, 6, 6)}


def filled(mx, names, shapes):
    """Arrays for the arguments of the network."""
    shapes = dict(zip(names, shapes, strict=True))
    return {n: mx.nd.array(np.random.RandomState(i).uniform(0.2, 1, s)) for i, (n, s) in enumerate(shapes.items())}


def outputs(mx, symbol, shapes):
    """What the network gives."""
    args, _, aux = symbol.infer_shape(**shapes)
    e = symbol.bind(
        mx.cpu(), filled(mx, symbol.list_arguments(), args), aux_states=filled(mx, symbol.list_auxiliary_states(), aux)
    )
    return e.forward(is_train=False)[0].asnumpy()


def save_files(mx, folder):
    """Writes all files."""
    for name, data in arrays(mx).items():
        mx.nd.waitall()  # else the original may write a shape that it has not computed
        mx.nd.save(str(folder / (name + ".params")), data)
    mx.npx.set_np()
    for name, data in np_arrays(mx).items():
        mx.npx.save(str(folder / (name + ".params")), data)
    mx.npx.reset_np()
    network(mx)[0].save(str(folder / "network-symbol.json"))


def equal(a, b):
    """Whether two arrays, lists or dicts of them are the same, storage types too."""
    if isinstance(a, dict):
        return list(a) == list(b) and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b, strict=True))
    same = a.stype == b.stype and a.dtype == b.dtype and np.array_equal(a.asnumpy(), b.asnumpy())
    if same and a.stype != "default":
        same = np.array_equal(a.indices.asnumpy(), b.indices.asnumpy()) and np.array_equal(
            a.data.asnumpy(), b.data.asnumpy()
        )
    return same and a.shape == b.shape


def check_files(mx, folder):
    """Raises AssertionError unless the files in a folder hold what they should."""
    for name, data in arrays(mx).items():
        data = [data] if isinstance(data, mx.nd.NDArray) else data
        assert equal(data, mx.nd.load(str(folder / (name + ".params")))), name
    mx.npx.set_np()
    for name, data in np_arrays(mx).items():
        assert equal(data, mx.npx.load(str(folder / (name + ".params")))), name
    mx.npx.reset_np()
    symbol, shapes = network(mx)
    loaded = mx.sym.load(str(folder / "network-symbol.json"))
    assert loaded.list_arguments() == symbol.list_arguments(), "network"
    assert np.allclose(outputs(mx, loaded, shapes), outputs(mx, symbol, shapes), atol=1e-6), "network"


if __name__ == "__main__":
    import mxnet

    if len(sys.argv) > 1:
        check_files(mxnet, pathlib.Path(sys.argv[1]))
        print("all files are read")
    else:
        GOLDEN.mkdir(exist_ok=True)
        save_files(mxnet, GOLDEN)
        symbol, shapes = network(mxnet)
        np.save(str(GOLDEN / "network.npy"), outputs(mxnet, symbol, shapes))
