"""Parameter files of real Chainer 7.8.1, MXNet 1.9.1 and nnabla 1.39.0, and what is in them.

    PYTHON -m tests.golden.interop_files

PYTHON is an interpreter in which one or more of them run, see record.py, record_mxnet.py and record_nnabla.py; for the
.h5 files it needs h5py. It writes the files of those that it has into the folder interop_files, beside a
FRAMEWORK.json: file -> name -> [shape, dtype, values], in the order of the file, where null stands for a parameter
without a value, and text (a string) for what is no number.
"""

import importlib
import pathlib
import tempfile

import numpy as np

from tests.golden import files

GOLDEN = pathlib.Path(__file__).with_name("interop_files")


def _described(value):
    if value is None:
        return None
    value = np.asarray(value)
    if value.dtype.kind not in "biufc":
        return str(value[()])
    return [list(value.shape), str(value.dtype), value.ravel().tolist()]


def chainer_files(chainer, folder):
    """Writes a model, one with a part that has no value yet, and the snapshot of a trainer; each as .npz and .h5."""
    import chainer.functions as F
    import chainer.links as L
    from chainer import serializers
    from chainer.serializers import npz
    from chainer.training import extensions

    class Net(chainer.Chain):
        def __init__(self, n_in):
            super().__init__()
            with self.init_scope():
                self.l1 = L.Linear(n_in, 3)
                self.bn = L.BatchNormalization(3)
                self.l2 = L.Linear(None, 2)

        def forward(self, x):
            return self.l2(F.relu(self.bn(self.l1(x))))

    def trained(folder, log):
        np.random.seed(0)
        x = np.random.rand(12, 4).astype(np.float32)
        data = chainer.datasets.TupleDataset(x, np.arange(12, dtype=np.int32) % 2)
        optimizer = chainer.optimizers.Adam().setup(L.Classifier(Net(4)))
        updater = chainer.training.StandardUpdater(chainer.iterators.SerialIterator(data, 4), optimizer)
        trainer = chainer.training.Trainer(updater, (2, "epoch"), out=folder)
        if log:
            trainer.extend(extensions.LogReport())
        trainer.run()
        # the one value that would differ each time
        trainer._final_elapsed_time = 1.0
        return trainer

    with tempfile.TemporaryDirectory() as logs:
        logged, trainer = trained(logs, True), trained(logs, False)
    model = trainer.updater.get_optimizer("main").target.predictor
    blank = Net(4)
    held = [("blank", blank, blank), ("model", model, model), ("trainer", logged, trainer)]
    found = {}
    for name, for_npz, for_h5 in held:  # Chainer cannot write the text of a log into .h5 files
        serializers.save_npz(str(folder / (name + ".npz")), for_npz)
        serializers.save_hdf5(str(folder / (name + ".h5")), for_h5)
        for thing, ending in ((for_npz, ".npz"), (for_h5, ".h5")):
            values = npz.DictionarySerializer()
            values.save(thing)
            found[name + ending] = {key: _described(value[()]) for key, value in values.target.items()}
        # in a .h5 file groups are sorted by name
        found[name + ".h5"] = dict(sorted(found[name + ".h5"].items(), key=lambda pair: pair[0].split("/")))
    return found


def mxnet_files(mx, folder):
    """Writes the arrays of a network of Gluon, those of one of the Module kind, and arrays of every type."""
    from mxnet.gluon import nn

    nd = mx.nd
    mx.random.seed(0)
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(3, in_units=2), nn.BatchNorm(in_channels=3), nn.Dense(1, in_units=3))
    net.initialize(mx.init.Normal(0.5))
    types = ["float32", "float64", "float16", "uint8", "int8", "int32", "int64", "bool"]
    module = {"arg:fc_weight": nd.array([[1.5, -2.0]]), "arg:fc_bias": nd.zeros((1,)), "aux:bn_mean": nd.ones((2,))}
    sparse = {
        "csr": nd.sparse.csr_matrix(([1.5, 0.0, -3.0], [1, 0, 2], [0, 1, 1, 3]), shape=(3, 3)),
        "rows": nd.sparse.row_sparse_array(([[1.0, 2.0], [0.5, 0.0]], [1, 3]), shape=(5, 2)),
    }
    held = {
        "gluon": {name: p.data() for name, p in net._collect_params_with_prefix().items()},
        "module": module,
        "types": {d: nd.array(np.array([[0, 1, 2], [3, 4, 100]]).astype(d), dtype=d) for d in types},
        "sparse": sparse,
        "unnamed": [nd.array([1.0, 2.0]), nd.array(np.zeros((0, 3)))],
    }
    mx.nd.waitall()
    found = {}
    for name, arrays in held.items():
        mx.nd.save(str(folder / (name + ".params")), arrays)
        pairs = arrays.items() if isinstance(arrays, dict) else enumerate(arrays)
        found[name + ".params"] = {str(key): _described(value.asnumpy()) for key, value in pairs}
    mx.npx.set_np()
    scalars = {"scalar": mx.np.array(3.5), "empty": mx.np.zeros((0, 2)), "ints": mx.np.array([1, 2], dtype="int32")}
    mx.npx.save(str(folder / "numpy.params"), scalars)
    mx.npx.reset_np()
    found["numpy.params"] = {key: _described(value.asnumpy()) for key, value in scalars.items()}
    return found


def nnabla_files(nn, folder):
    """Writes some parameters in every format."""
    from nnabla.utils.save import save

    nn.clear_parameters()
    create = nn.parameter.get_parameter_or_create
    create("z/affine/W", (2, 3), np.linspace(-1, 2, 6, dtype=np.float32).reshape(2, 3))
    create("z/affine/b", (3,), need_grad=False)
    create("a/scalar", (), np.array(3.5, np.float32))
    create("a/counts", (3,), np.arange(3))
    for name in ("parameters.h5", "parameters.protobuf"):
        nn.save_parameters(str(folder / name))
    x = nn.Variable((1, 2))
    y = nn.functions.affine(x, nn.parameter.get_parameter("z/affine/W"))
    networks = [{"name": "net", "batch_size": 1, "outputs": {"y": y}, "names": {"x": x}}]
    executors = [{"name": "run", "network": "net", "data": ["x"], "output": ["y"]}]
    for format_ in ("h5", "protobuf"):
        contents = {"networks": networks, "executors": executors}
        save(str(folder / ("network_" + format_ + ".nnp")), contents, parameter_format="." + format_)
    save(str(folder / "network.nntxt"), contents, include_params=True)
    held = {key: p.d.copy() for key, p in nn.get_parameters(grad_only=False).items()}
    kept = {key: _described(value) for key, value in held.items()}
    floats = {key: _described(value.astype(np.float32)) for key, value in held.items()}
    found = {"parameters.h5": kept, "parameters.protobuf": floats, "network_protobuf.nnp": floats}
    return {**found, "network_h5.nnp": kept, "network.nntxt": floats}


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for framework, write in {"chainer": chainer_files, "mxnet": mxnet_files, "nnabla": nnabla_files}.items():
        try:
            module = importlib.import_module(framework)
        except ImportError:
            continue
        expected = write(module, GOLDEN)
        files.write(GOLDEN / (framework + ".json"), expected, files.versions(framework))
