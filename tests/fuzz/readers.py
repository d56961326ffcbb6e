"""Every reader of files, each with a whole file that it reads.

A function makes the file at a path and returns a `Setup`. `lib` imports a module of compatgrad, or of the original
where the mutants are read by that.
"""

import gzip
import importlib
import importlib.util
import io
import os
import shutil
import struct
import wave

import numpy as np

from tests.fuzz import table
from tests.fuzz.readers_mxnet import READERS  # the table, with what is below in it
from tests.fuzz.table import lib, plain, reader
from tests.fuzz.worker import IMAGES, Setup

__all__ = ["READERS"]

_ZIP = ("ValueError", "BadZipFile", "KeyError")
_CHAINER = (*_ZIP, "TypeError")


# ---- Chainer ------------------------------------------------------------------------------------------------------
def _chainer_state(obj):
    found = lib("chainer.serializers.npz").DictionarySerializer()
    found.save(obj)
    return {k: plain(v) for k, v in found.target.items() if not k.endswith("elapsed_time")}


def _net(lazy=False):
    chainer, links = lib("chainer"), lib("chainer.links")
    return chainer.Sequential(links.Linear(None if lazy else 3, 4), links.BatchNormalization(4), links.Linear(4, 2))


@reader("chainer load_npz", "model.npz")
def _(path):
    serializers, target = lib("chainer.serializers"), _net()
    serializers.save_npz(path, _net())
    return Setup(lambda p: serializers.load_npz(p, target), lambda: _chainer_state(target), _CHAINER)


@reader("chainer load_npz, uninitialized", "lazy.npz")
def _(path):
    serializers = lib("chainer.serializers")
    serializers.save_npz(path, _net(True))
    targets = [None]

    def read(p):
        targets[0] = _net(True)
        serializers.load_npz(p, targets[0])

    return Setup(read, None, _CHAINER)


def _trainer(folder):
    training, optimizers = lib("chainer.training"), lib("chainer.optimizers")
    net = lib("chainer.links").Classifier(_net())
    optimizer = optimizers.Adam()
    optimizer.setup(net)
    data = lib("chainer.datasets").TupleDataset(np.ones((6, 3), np.float32), np.arange(6, dtype=np.int32) % 2)
    iterator = lib("chainer.iterators").SerialIterator(data, 2)
    trainer = training.Trainer(training.StandardUpdater(iterator, optimizer), (1, "epoch"), out=folder)
    trainer.extend(lib("chainer.training.extensions").LogReport(trigger=(1, "iteration"), filename=None))
    trainer.run()
    return trainer


@reader("chainer snapshot of a trainer", "snapshot")
def _(path):
    serializers, target = lib("chainer.serializers"), _trainer(os.path.dirname(path))
    serializers.save_npz(path, target)
    return Setup(lambda p: serializers.load_npz(p, target), lambda: _chainer_state(target), _CHAINER)


@reader("chainer load_hdf5", "model.h5")
def _(path):
    serializers, target = lib("chainer.serializers"), _net()
    serializers.save_hdf5(path, _net())
    return Setup(lambda p: serializers.load_hdf5(p, target), lambda: _chainer_state(target), (*_CHAINER, "OSError"))


@reader("chainer Caffe model", "net.caffemodel")
def _(path):
    chainer = lib("chainer")
    links, functions = lib("chainer.links"), lib("chainer.functions")
    x = chainer.Variable(np.ones((1, 2, 6, 6), np.float32))
    conv, full = links.Convolution2D(2, 3, 3), links.Linear(12, 2)

    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.conv, self.full = conv, full

        def __call__(self, x):
            return functions.softmax(self.full(functions.max_pooling_2d(functions.relu(self.conv(x)), 2)))

    lib("chainer.exporters").caffe.export(Net(), [x], os.path.dirname(path))
    os.rename(os.path.join(os.path.dirname(path), "chainer_model.caffemodel"), path)
    caffe = lib("chainer.links.caffe")
    return Setup(lambda p: caffe.CaffeFunction(p), None, ("ValueError", "RuntimeError"))


@reader("chainer images from a list", "pairs.txt")
def _(path):
    imaging, datasets = importlib.import_module("PIL.Image"), lib("chainer.datasets")
    for i in range(3):
        imaging.new("RGB", (4, 4), (i, 0, 0)).save(os.path.join(os.path.dirname(path), f"{i}.png"))
    with open(path, "w") as file:
        file.writelines(f"{i}.png {i}\n" for i in range(3))

    def read(p):
        data = datasets.LabeledImageDataset(p, os.path.dirname(p))
        if len(data) > 3:
            return None
        return [data[i] for i in range(len(data))]

    return Setup(read, None, ("ValueError", "OSError"))


@reader("chainer images in a zip file", "images.zip")
def _(path):
    import zipfile

    imaging, datasets = importlib.import_module("PIL.Image"), lib("chainer.datasets")
    with zipfile.ZipFile(path, "w") as archive:
        for i in range(3):
            out = io.BytesIO()
            imaging.new("RGB", (4, 4), (i, 0, 0)).save(out, "png")
            archive.writestr(f"{i}.png", out.getvalue())

    def read(p):
        data = datasets.MultiZippedImageDataset([p])
        return [data[i] for i in range(len(data))]

    return Setup(read, None, ("ValueError", "OSError", "BadZipFile"), IMAGES)


@reader("chainer images", "image.png")
def _(path):
    imaging, datasets = importlib.import_module("PIL.Image"), lib("chainer.datasets")
    imaging.fromarray(np.arange(48, dtype=np.uint8).reshape(4, 4, 3)).save(path)
    return Setup(lambda p: datasets.ImageDataset([p])[0], None, ("ValueError", "OSError"), IMAGES)


@reader("chainer text data set", "lines.txt")
def _(path):
    datasets = lib("chainer.datasets")
    with open(path, "w") as file:
        file.write("one\ntwo words\nthree\n" * 4)

    def read(p):
        data = datasets.TextDataset(p, encoding="utf-8")
        return [data[i] for i in range(len(data))]

    return Setup(read)


@reader("IDX, gzipped", "images.idx.gz")
def _(path):
    with gzip.open(path, "wb") as file:
        file.write(struct.pack(">BBBBIII", 0, 0, 8, 3, 2, 3, 3) + bytes(18))
    return Setup(lambda p: importlib.import_module("compatgrad.formats.idx").read(p))


# ---- nnabla -------------------------------------------------------------------------------------------------------
_NNABLA = ("ValueError", "OSError", "BadZipFile")
_NETWORKS = (*_NNABLA, "TypeError", "IndexError", "RuntimeError", "KeyError")  # those of functions too


def _scope():
    parameters = lib("nnabla").get_parameters(grad_only=False)
    return {name: (p.shape, p.d.tobytes(), p.need_grad) for name, p in parameters.items()}


def _network(path):
    nn, F, PF = lib("nnabla"), lib("nnabla.functions"), lib("nnabla.parametric_functions")
    nn.clear_parameters()
    x, t = nn.Variable((2, 1, 4, 4)), nn.Variable((2, 1))
    y = PF.affine(F.relu(PF.convolution(x, 2, (2, 2), name="c")), 3, name="a")
    loss = F.mean(F.softmax_cross_entropy(y, t))
    contents = {
        "networks": [
            {"name": "n", "batch_size": 2, "outputs": {"y": y}, "names": {"x": x}},
            {"name": "l", "batch_size": 2, "outputs": {"loss": loss}, "names": {"x": x, "t": t}},
        ],
        "executors": [{"name": "e", "network": "n", "data": ["x"], "output": ["y"]}],
    }
    lib("nnabla.utils.save").save(path, contents)


def _parameters(ending):
    def make(path):
        nn = lib("nnabla")
        if ending in (".nnp", ".nntxt"):
            _network(path)
        else:
            _network(path + ".nnp")
            nn.save_parameters(path)
        return Setup(nn.load_parameters, _scope, _NNABLA)

    return make


for _ending in (".h5", ".protobuf", ".nntxt", ".nnp"):
    reader(f"nnabla load_parameters {_ending}", f"p{_ending}")(_parameters(_ending))


@reader("nnabla networks .nntxt", "n.nntxt")
def _(path):
    _network(path)
    load = lib("nnabla.utils.load").load
    return Setup(lambda p: load(p, batch_size=2), _scope, _NETWORKS)


@reader("nnabla networks .nnp", "n.nnp")
def _(path):
    _network(path)
    load = lib("nnabla.utils.load").load
    return Setup(lambda p: load(p, batch_size=2), _scope, _NETWORKS)


@reader("nnabla NnpLoader", "l.nnp")
def _(path):
    _network(path)
    nnp = lib("nnabla.utils.nnp_graph")

    def read(p):
        found = nnp.NnpLoader(p)
        return [found.get_network(name, batch_size=2) for name in found.get_network_names()]

    return Setup(read, None, _NETWORKS)


@reader("nnabla graph_def", "g.nnp")
def _(path):
    _network(path)
    graph_def = lib("nnabla.core.graph_def")

    def read(p):
        return [network() for network in graph_def.load(p).networks.values()]

    return Setup(read, None, _NETWORKS)


def _states(ending):
    def make(path):
        nn, solvers = lib("nnabla"), lib("nnabla.solvers")
        w = nn.Variable.from_numpy_array(np.ones((2, 3), np.float32), need_grad=True)
        solver = solvers.Adam()
        solver.set_parameters({"a/w": w})
        w.g = 1
        solver.update()
        solver.save_states(path)

        def state():
            found = solver.get_states()
            return {k: (s.t, sorted((n, plain(v.d)) for n, v in s.pstate.items())) for k, s in found.items()}

        return Setup(solver.load_states, None if table.peer() else state, (*_NNABLA, "RuntimeError"))

    return make


for _ending in (".h5", ".protobuf"):
    reader(f"nnabla load_states {_ending}", f"s{_ending}")(_states(_ending))


def _examples(source):
    try:
        return [source.next() for _ in range(min(source.size, 20))]
    finally:
        source.close()


@reader("nnabla CSV data set", "d.csv")
def _(path):
    sources = lib("nnabla.utils.data_source_implements")
    np.save(os.path.join(os.path.dirname(path), "x.npy"), np.ones(3))
    with open(path, "w") as file:
        file.write("x__0:first,x__1,y,#note\n" + "".join(f"{i},{i + 1},x.npy,text {i}\n" for i in range(5)))
    return Setup(lambda p: _examples(sources.CsvDataSource(p)), None, ("ValueError", "OSError"))


def _cache(file):
    def make(path):
        sources = lib("nnabla.utils.data_source_implements")
        folder = os.path.dirname(path)
        names = ["x", "y"]
        with open(os.path.join(folder, "cache_info.csv"), "w") as out:
            out.writelines(f"{name}\n" for name in names)
        with open(os.path.join(folder, "cache_index.csv"), "w") as out:
            out.write("part.npy,4\n")
        with open(os.path.join(folder, "part.npy"), "wb") as out:
            for array in (np.arange(8.0).reshape(4, 2), np.arange(4)):
                np.save(out, array)
        assert os.path.basename(path) == file
        return Setup(lambda p: _examples(sources.CacheDataSource(os.path.dirname(p))), None, ("ValueError", "OSError"))

    return make


for _file in ("part.npy", "cache_index.csv", "cache_info.csv"):
    reader(f"nnabla cache, {_file}", _file)(_cache(_file))


@reader("nnabla cache of .h5", "part.h5")
def _(path):
    sources, h5py = lib("nnabla.utils.data_source_implements"), importlib.import_module("h5py")
    with h5py.File(path, "w") as file:
        file["x"], file["y"] = np.arange(8.0).reshape(4, 2), np.arange(4)
    return Setup(lambda p: _examples(sources.CacheDataSource(os.path.dirname(p))), None, ("ValueError", "OSError"))


@reader("nnabla load_npy", "x.npy")
def _(path):
    np.save(path, np.arange(12, dtype=np.float32).reshape(3, 4))
    return Setup(lib("nnabla.utils.data_source_loader").load_npy)


@reader("nnabla load_csv", "x.csv")
def _(path):
    with open(path, "w") as file:
        file.write("1,2,3\n4,5e-1,-6\n")
    loader = lib("nnabla.utils.data_source_loader")

    def read(p):
        with open(p, "rb") as file:
            return loader.load_csv(file)

    return Setup(read)


def _image(ending):
    def make(path):
        utils, loader = lib("nnabla.utils.image_utils"), lib("nnabla.utils.data_source_loader")
        utils.imsave(path, np.arange(48, dtype=np.uint8).reshape(4, 4, 3))
        return Setup(loader.load_image, None, ("ValueError", "OSError"), IMAGES)

    return make


for _ending in (".png", ".bmp", ".jpg"):
    reader(f"nnabla image {_ending}", f"i{_ending}")(_image(_ending))


@reader("nnabla sound", "s.wav")
def _(path):
    with wave.open(path, "wb") as sound:
        sound.setnchannels(2), sound.setsampwidth(2), sound.setframerate(8000)
        sound.writeframes(bytes(range(200)))
    if not importlib.util.find_spec("scipy") and not table.peer():
        utils = lib("nnabla.utils.audio_utils")
        return Setup(utils.auread, None, ("ValueError", "OSError"))
    return Setup(lib("nnabla.utils.data_source_loader").load_wav, None, ("ValueError", "OSError"))


# ---- parameter files of all frameworks ------------------------------------------------------------------------------
_GOLDEN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden", "interop_files")


def _read_parameters(name):
    def make(path):
        interop = importlib.import_module("compatgrad.interop")
        if name.endswith(".safetensors"):
            torch = importlib.import_module("torch")
            interop.write_parameters(path, {"a": torch.arange(3), "b": torch.ones(2, 2), "c": torch.tensor(True)})
        else:
            shutil.copyfile(os.path.join(_GOLDEN, name), path)
        return Setup(interop.read_parameters, memory=160 << 20)  # sparse arrays may take 64 MiB

    return make


for _name in ("blank.npz", "parameters.h5", "model.h5", "parameters.protobuf", "network.nntxt", "network_protobuf.nnp",
              "network_h5.nnp", "types.params", "sparse.params", "tensors.safetensors"):  # fmt: skip
    reader(f"interop {_name}", _name)(_read_parameters(_name))
