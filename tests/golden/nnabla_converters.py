"""Records what converted graphs give in nnabla 1.39: ``PYTHON -m tests.golden.nnabla_converters``."""

import importlib
import pathlib

import numpy as np

from tests.golden import files

GOLDEN = pathlib.Path(__file__).with_suffix(".npz")


class Net:
    """Graphs with the same weights at each run, whatever `package` makes them."""

    def __init__(self, package):
        self.nn = importlib.import_module(package)
        self.F = importlib.import_module(f"{package}.functions")
        self.PF = importlib.import_module(f"{package}.parametric_functions")
        self.GC = importlib.import_module(f"{package}.experimental.graph_converters")
        self.qnn = importlib.import_module(f"{package}.utils.qnn")
        self.nn.clear_parameters()

    def fill(self):
        rng = np.random.RandomState(3)
        for name, p in sorted(self.nn.get_parameters(grad_only=False).items()):
            value = rng.randn(*p.shape) / 3
            p.d = np.abs(value) + 0.5 if name.endswith(("var", "gamma")) else value

    def inputs(self, *shapes):
        rng = np.random.RandomState(4)
        return [self.nn.Variable.from_numpy_array(rng.randn(*s).astype("f4")) for s in shapes]

    def plain(self, x, z=None):
        """Convolutions and normalizations, one deconvolution, an affine layer at the end."""
        PF, F = self.PF, self.F
        h = PF.batch_normalization(PF.convolution(x, 4, (3, 3), name="c1"), batch_stat=False, name="n1")
        h = F.max_pooling(F.relu(h), (2, 2))
        h = PF.deconvolution(h, 4, (3, 3), name="d", with_bias=False)
        h = PF.batch_normalization(h, batch_stat=False, name="n2")
        h = F.relu(h if z is None else h + z)
        return PF.affine(h, 3, name="a")


def _types(y):
    found = []
    y.visit(lambda f: found.append(f.info.type_name))
    return np.array(found)


def results(package):
    """Values and types of functions of converted graphs: name -> array."""
    found = {}

    def note(name, y):
        y.forward()
        found[name] = y.d.copy()
        found[f"{name}-types"] = _types(y)

    modifiers = {
        "fold": lambda net: [net.GC.BatchNormalizationFoldingModifier()],
        "self-fold": lambda net: [net.GC.BatchNormalizationSelfFoldingModifier()],
        "remove": lambda net: [net.GC.RemoveFunctionModifier(["ReLU", "BatchNormalization"])],
        "prune": lambda net: [net.GC.PruningModifier(1.6)],
        "test-mode": lambda net: [net.GC.TestModeModifier(["MaxPooling"])],
        "no-grad": lambda net: [net.GC.NoGradModifier()],
    }
    for name, make in modifiers.items():
        net = Net(package)
        (x,) = net.inputs((2, 3, 8, 8))
        if name in ("test-mode", "remove"):
            h = net.F.relu(net.PF.batch_normalization(net.PF.convolution(x, 4, (3, 3)), batch_stat=True))
            y = net.F.max_pooling(h, (2, 2))
        else:
            y = net.plain(x)
        net.fill()
        note(name, net.GC.GraphConverter(make(net)).convert(y))

    net = Net(package)
    x, x2 = net.inputs((2, 3, 8, 8), (2, 3, 8, 8))
    y = net.plain(x)
    net.fill()
    note("identity", net.GC.GraphConverter([net.GC.IdentityModifier({x: x2})]).convert(y))

    for recorder in ("MinMaxMinMax", "AbsMax", "MinMaxMva", "MaxMax", "MaxMva"):
        net = Net(package)
        config = net.qnn.QATConfig()
        config.recorder_activation = config.recorder_weight = getattr(net.qnn, f"{recorder}RecorderCallback")
        config.skip_inputs_layers = config.skip_outputs_layers = []
        if recorder == "AbsMax":
            config.pow2 = config.RoundingMethod.NOTROUND
            config.narrow_range = True
        x, z = net.inputs((2, 3, 8, 8), (2, 4, 5, 5))
        y = net.plain(x, z)
        net.fill()
        net.GC.GraphConverter([])
        y = net.GC.GraphConverter([net.GC.BatchNormalizationSelfFoldingModifier()]).convert(y)
        ranks = net.qnn.FunctionsRankRecorder()
        y.visit(ranks)
        make = net.GC.QuantizeNonQNNToRecordingModifier
        y = net.GC.GraphConverter([make(ranks.functions_ranks, config)]).convert(y)
        for _ in range(3):
            y.forward()
        found[f"{recorder}-recording"] = y.d.copy()
        found[f"{recorder}-recording-types"] = _types(y)
        names = [config.recorder_activation().name(), config.recorder_weight().name()]
        y = net.GC.GraphConverter([net.GC.RemoveFunctionModifier(names)]).convert(y)
        ranks = net.qnn.FunctionsRankRecorder()
        y.visit(ranks)
        make = net.GC.QuantizeRecordingToTrainingModifier
        y = net.GC.GraphConverter([make(ranks.functions_ranks, config)]).convert(y)
        note(f"{recorder}-training", y)
        for name, p in net.nn.get_parameters(grad_only=False).items():
            if "scale-" in name or "/M-" in name or "/m-" in name:
                found[f"{recorder}:{name}"] = p.d.copy()
    net.nn.clear_parameters()
    return found


if __name__ == "__main__":
    files.write(GOLDEN, results("nnabla"), files.versions("nnabla"))
