"""What Chainer's ResNet50 computes with the numbers of `leaving`.

    PYTHON -m tests.golden.chainer_leaving

PYTHON is an interpreter that has Chainer 7.8.1, see record.py. The parameters, 100 MB, are not stored: `parameters`
makes them.
"""

import pathlib

import numpy as np

from tests.golden import files, leaving


def parameters(model, npz):
    """The file's contents: all that `npz`, Chainer's module of this name, saves of a model."""
    writer = npz.DictionarySerializer()
    writer.save(model)
    return {
        name: np.asarray(a) if np.ndim(a) == 0 else leaving.numbers(name, np.shape(a))
        for name, a in writer.target.items()
    }


def main():
    import chainer
    import chainer.links as L
    from chainer.serializers import npz

    model = L.ResNet50Layers(pretrained_model=None)
    npz.NpzDeserializer(parameters(model, npz)).load(model)
    x = leaving.images(2, 3, 64, 64)
    with chainer.using_config("train", False), chainer.no_backprop_mode():
        found = model(x, layers=["pool5", "fc6", "prob"])
    files.write(
        pathlib.Path(__file__).with_suffix(".npz"),
        {name: y.array for name, y in found.items()},
        files.versions("chainer"),
    )


if __name__ == "__main__":
    main()
