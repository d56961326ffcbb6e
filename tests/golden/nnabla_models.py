"""Records what nnabla's trained networks give, on small files with their names: run by nnabla 1.39.

The files are made here, by either side, so that only results are kept: ``PYTHON -m tests.golden.nnabla_models``.
"""

import importlib
import os
import pathlib
import tempfile
import zipfile

import numpy as np

from tests.golden import files as golden_files

GOLDEN = pathlib.Path(__file__).with_suffix(".npz")


class Writer:
    """A network as text, and its parameters."""

    def __init__(self, name, seed=0, repeats=()):
        self.lines, self.params, self.made = [f'name: "{name}" batch_size: 1'], [], set()
        self.lines += [f'repeat_info {{ id: "{i}" times: {n} }}' for i, n in repeats]
        self.times = dict(repeats)
        self.rng = np.random.RandomState(seed)

    def variable(self, name, shape, kind="Buffer", inside=()):
        if name in self.made:
            return name
        self.made.add(name)
        dims = " ".join(f"dim: {n}" for n in shape)
        ids = " ".join(f'repeat_id: "{i}"' for i in inside)
        self.lines.append(f'variable {{ name: "{name}" type: "{kind}" {ids} shape {{ {dims} }} }}')
        if kind == "Parameter":
            names = [name]
            for i in inside:
                names = [
                    n.replace("{" + i + "}", f"[{k}]") if "{" + i + "}" in n else f"{n}_{i}[{k}]"
                    for n in names
                    for k in range(self.times[i])
                ]
            for n in names:
                value = np.abs(self.rng.randn(*shape)) + 0.5 if "/var" in n else self.rng.randn(*shape) / 3
                data = " ".join(f"data: {v!r}" for v in value.astype("f4").ravel().tolist())
                self.params.append(f'parameter {{ variable_name: "{n}" shape {{ {dims} }} {data} }}')
        return name

    def function(self, type_, name, inputs, output, shape, param="", inside=(), output_name=None, outputs=None):
        outs = outputs or [self.variable(output_name or name, shape, inside=inside)]
        lists = [f'input: "{i}"' for i in inputs] + [f'output: "{o}"' for o in outs]
        ids = " ".join(f'repeat_id: "{i}"' for i in inside)
        self.lines.append(f'function {{ name: "{name}" type: "{type_}" {ids} {" ".join(lists)} {param} }}')
        return outs[0]

    def convolution(self, name, x, cin, cout, size, inside=(), mark=""):
        w = self.variable(f"{name}{mark}/W", (cout, cin, 3, 3), "Parameter", inside)
        return self.function(
            "Convolution",
            name,
            [x, w],
            name,
            (1, cout, *size),
            "convolution_param { base_axis: 1 pad { dim: 1 dim: 1 } stride { dim: 1 dim: 1 } "
            "dilation { dim: 1 dim: 1 } group: 1 }",
            inside,
        )

    def norm(self, name, x, c, size, inside=()):
        ps = [
            self.variable(f"{name}/bn/{p}", (1, c, 1, 1), "Parameter", inside) for p in ("beta", "gamma", "mean", "var")
        ]
        return self.function(
            "BatchNormalization",
            name,
            [x, *ps],
            name,
            (1, c, *size),
            "batch_normalization_param { axes: 1 decay_rate: 0.5 eps: 0.01 batch_stat: true }",
            inside,
        )

    def relu(self, name, x, c, size, inside=()):
        return self.function("ReLU", name, [x], name, (1, c, *size), "relu_param { inplace: false }", inside)

    def pool(self, name, x, c, size, kernel):
        k = f"dim: {kernel[0]} dim: {kernel[1]}"
        return self.function(
            "AveragePooling",
            name,
            [x],
            name,
            (1, c, size[0] // kernel[0], size[1] // kernel[1]),
            f"average_pooling_param {{ kernel {{ {k} }} stride {{ {k} }} pad {{ dim: 0 dim: 0 }} "
            "ignore_border: true including_pad: true }",
        )

    def affine(self, name, x, n, out):
        w = self.variable(f"{name}/W", (n, out), "Parameter")
        b = self.variable(f"{name}/b", (out,), "Parameter")
        return self.function("Affine", name, [x, w, b], name, (1, out), "affine_param { base_axis: 1 }")

    def augmentation(self, name, x, size):
        return self.function(
            "ImageAugmentation",
            name,
            [x],
            name,
            (1, 3, *size),
            f"image_augmentation_param {{ shape {{ dim: 3 dim: {size[0]} dim: {size[1]} }} "
            "min_scale: 1 max_scale: 1 aspect_ratio: 1 contrast: 1 seed: -1 }",
        )

    def loss(self, x, label, name="SoftmaxCrossEntropy", factor=None, out=None):
        y = self.variable(label, (-1, 1))
        h = self.function(
            "SoftmaxCrossEntropy",
            name,
            [x, y],
            name,
            (1, 1),
            "softmax_cross_entropy_param { axis: 1 }",
            output_name=out,
        )
        if factor:
            self.function("MulScalar", factor, [h], factor, (1, 1), "mul_scalar_param { val: 0.3 }")

    def write(self, path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("nnp_version.txt", "0.1\n")
            file.writestr("network.nntxt", "network { " + "\n".join(self.lines) + " }\n" + "\n".join(self.params))


def resnet(home):
    """ResNet18.nnp: repetitions, one inside another by the marks of its parameters, and a plain one."""
    w = Writer("Training", 1, [("RepeatStart", 2), ("RepeatStart_4", 1)])
    size = (8, 8)
    h = w.augmentation("ImageAugmentationX", w.variable("InputX", (1, 3, 8, 8)), size)
    h = w.norm("BatchNormalization", w.convolution("Convolution", h, 3, 4, size), 4, size)
    w.variable("block", (1, 4, 8, 8), inside=["RepeatStart"])
    s = w.variable("RepeatStart", (1, 4, 8, 8), inside=["RepeatStart"])
    w.function(
        "RepeatStart",
        "RepeatStart",
        [h, "block"],
        s,
        None,
        'repeat_param { repeat_id: "RepeatStart" times: 2 }',
        ["RepeatStart"],
        outputs=[s],
    )
    c = w.convolution("Convolution_2", s, 4, 4, size, ["RepeatStart"], "{RepeatStart}")
    c = w.norm("BatchNormalization_2", c, 4, size, ["RepeatStart"])
    w.function(
        "Add2", "Add2", [c, s], "block", None, "add2_param { inplace: false }", ["RepeatStart"], outputs=["block"]
    )
    e = w.function(
        "RepeatEnd",
        "RepeatEnd",
        ["block"],
        "RepeatEnd",
        (1, 4, 8, 8),
        'repeat_param { repeat_id: "RepeatStart" times: 2 }',
    )
    w.variable("ReLU_25", (1, 4, 8, 8), inside=["RepeatStart_4"])
    s = w.variable("RepeatStart_4", (1, 4, 8, 8), inside=["RepeatStart_4"])
    w.function(
        "RepeatStart",
        "RepeatStart_4",
        [e, "ReLU_25"],
        s,
        None,
        'repeat_param { repeat_id: "RepeatStart_4" times: 1 }',
        ["RepeatStart_4"],
        outputs=[s],
    )
    c = w.convolution("Convolution_3", s, 4, 4, size, ["RepeatStart_4"])
    a = w.function("Add2", "Add2_7", [c, s], "Add2_7", (1, 4, 8, 8), "add2_param { inplace: false }", ["RepeatStart_4"])
    w.relu("ReLU_25", a, 4, size, ["RepeatStart_4"])
    e = w.function(
        "RepeatEnd",
        "RepeatEnd_4",
        ["ReLU_25"],
        "RepeatEnd_4",
        (1, 4, 8, 8),
        'repeat_param { repeat_id: "RepeatStart_4" times: 1 }',
    )
    w.loss(w.affine("Affine", w.pool("AveragePooling", e, 4, size, size), 4, 5), "InputY")
    w.write(os.path.join(home, "imagenet", "Resnet-18.nnp"))


def googlenet(home):
    """GoogLeNet.nnp: two towers, batch normalization and a dropout."""
    w = Writer("Train", 2)
    size = (8, 8)
    h = w.augmentation("ImageAugmentationX", w.variable("InputX", (1, 3, 8, 8)), size)
    h = w.norm("BatchNormalization", w.convolution("Convolution", h, 3, 4, size), 4, size)
    for pool, conv, relu, fc, relu2, drop, out, loss, factor in (
        (
            "AveragePooling",
            "Convolution_22",
            "ReLU_22",
            "Affine",
            "ReLU_23",
            "Dropout",
            "Affine_2",
            "SoftmaxCrossEntropy",
            "MulScalarLoss1",
        ),
        (
            "AveragePooling_2",
            "Convolution_41",
            "ReLU_42",
            "Affine_3",
            "ReLU_43",
            "Dropout_2",
            "Affine_4",
            "SoftmaxCrossEntropy_2",
            "MulScalarLoss2",
        ),
    ):
        t = w.pool(pool, h, 4, size, (2, 2))
        t = w.relu(relu, w.convolution(conv, t, 4, 3, (4, 4)), 3, (4, 4))
        w.variable(fc, (1, 6))
        t = w.affine(fc, t, 48, 6)
        t = w.function("ReLU", relu2, [t], relu2, (1, 6), "relu_param { inplace: false }")
        t = w.function("Dropout", drop, [t], drop, (1, 6), "dropout_param { p: 0.5 seed: -1 }")
        w.loss(w.affine(out, t, 6, 5), "InputY", loss, factor)
        h = w.relu(f"Main_{pool}", w.convolution(f"Conv_{pool}", h, 4, 4, size), 4, size)
    c = w.function(
        "Concatenate", "Concatenate_9", [h, h], "Concatenate_9", (1, 8, 8, 8), "concatenate_param { axis: 1 }"
    )
    h = w.pool("AveragePooling_3", c, 8, size, size)
    h = w.function("Dropout", "Dropout_3", [h], "Dropout_3", (1, 8, 1, 1), "dropout_param { p: 0.5 seed: -1 }")
    w.loss(w.affine("Affine_5", h, 8, 5), "InputY", "SoftmaxCrossEntropy_3")
    w.write(os.path.join(home, "imagenet", "GoogLeNet.nnp"))


def mobilenet2(home):
    """MobileNet-v2.nnp: the images come in behind the augmentation."""
    w = Writer("Training", 3)
    size = (8, 8)
    h = w.augmentation("ImageAugmentationX", w.variable("InputX", (1, 3, 8, 8)), size)
    h = w.norm("BatchNormalization_2", w.convolution("Convolution", h, 3, 4, size), 4, size)
    h = w.pool("AveragePooling", w.relu("ReLU_2", h, 4, size), 4, size, size)
    h = w.function("Reshape", "Reshape", [h], "Reshape", (1, 4), "reshape_param { shape { dim: -1 dim: 4 } }")
    w.loss(h, "InputY")
    w.write(os.path.join(home, "imagenet", "MobileNet-v2.nnp"))


def loop(home):
    """loop.nnp: a recurrent network, with a delay, over the second axis."""
    w = Writer("net", 4, [("Loop", 3)])
    x = w.variable("x", (2, 3, 4))
    item = w.variable("item", (2, 4), inside=["Loop"])
    w.function(
        "RecurrentInput",
        "RecurrentInput",
        [x],
        item,
        None,
        'recurrent_param { repeat_id: "Loop" length: 3 axis: 1 }',
        ["Loop"],
        outputs=[item],
    )
    w.variable("h", (2, 4), inside=["Loop"])
    zero = w.variable("h0", (2, 4), "Parameter")
    last = w.variable("last", (2, 4), inside=["Loop"])
    w.function(
        "Delay",
        "Delay",
        ["h", zero],
        last,
        None,
        'recurrent_param { repeat_id: "Loop" axis: 1 }',
        ["Loop"],
        outputs=[last],
    )
    weight = w.variable("cell/W", (4, 4), "Parameter")
    a = w.function("Affine", "cell", [last, weight], "cell", (2, 4), "affine_param { base_axis: 1 }", ["Loop"])
    a = w.function("Add2", "sum", [a, item], "sum", (2, 4), "add2_param { inplace: false }", ["Loop"])
    w.function("Tanh", "h", [a], "h", None, "", ["Loop"], outputs=["h"])
    w.function("RecurrentOutput", "y", ["h"], "y", (2, 3, 4), 'recurrent_param { repeat_id: "Loop" length: 3 axis: 1 }')
    w.write(os.path.join(home, "loop.nnp"))


def files(home):
    """All files, in the folder `home`."""
    for write in (resnet, googlenet, mobilenet2, loop):
        write(home)


def results(package, home):
    """What the networks give in `package`, "nnabla" or another of that API: name -> array."""
    nn = importlib.import_module(package)
    models = importlib.import_module(f"{package}.models.imagenet")
    NnpLoader = importlib.import_module(f"{package}.utils.nnp_graph").NnpLoader
    found = {}
    rng = np.random.RandomState(0)
    for name, keys in (
        ("ResNet18", ("classifier", "pool", "lastconv", "lastconv+relu")),
        ("GoogLeNet", ("classifier", "pool", "prepool")),
        ("MobileNetV2", ("classifier", "pool", "lastconv", "lastconv+relu")),
    ):
        image = nn.Variable.from_numpy_array(rng.rand(2, 3, 8, 8).astype("f4"))
        for training in (False, True):
            if training and name == "GoogLeNet":
                continue  # dropout
            model = getattr(models, name)()
            for key in keys:
                nn.clear_parameters()
                y = model(image, use_up_to=key, training=training)
                y.forward()
                label = f"{name}-{key}-{training}"
                found[label] = y.d.copy()
                net = model(image, use_up_to=key, training=training, force_global_pooling=True, returns_net=True)
                learned = sorted(k for k, v in net.variables.items() if v.need_grad)
                found[f"{label}-names"] = np.array(sorted(net.variables) + ["learned:"] + learned)
    nn.clear_parameters()
    tower = models.GoogLeNet()(nn.Variable((2, 3, 8, 8)), training=True, with_aux_tower=True)
    found["towers"] = np.array([list(y.shape) for y in tower])
    net = NnpLoader(os.path.join(home, "loop.nnp")).get_network("net", batch_size=2)
    net.inputs["x"].d = rng.randn(2, 3, 4)
    net.outputs["y"].forward()
    found["loop"] = net.outputs["y"].d.copy()
    found["loop-names"] = np.array(sorted(net.variables))
    return found


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder
        os.environ.pop("NNABLA_MODELS", None)
        home = os.path.join(folder, "nnabla_data", "nnp_models")
        files(home)
        golden_files.write(GOLDEN, results("nnabla", home), golden_files.versions("nnabla"))


if __name__ == "__main__":
    main()
