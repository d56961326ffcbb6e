"""A small residual network that MXNet exported as a symbol and parameters, and what MXNet computes with it.

    PYTHON -m tests.golden.mxnet_leaving

PYTHON is an interpreter that has MXNet 1.9.1, see record_mxnet.py.
"""

import pathlib

from tests.golden import files, leaving

FOLDER = pathlib.Path(__file__).with_suffix("")


def main():
    import mxnet as mx
    from mxnet.gluon.model_zoo import vision

    net = vision.ResNetV1(vision.BasicBlockV1, [1, 1], [4, 4, 8], classes=5, thumbnail=True, prefix="net_")
    net.initialize()
    net.hybridize()
    x = mx.nd.array(leaving.images(3, 3, 12, 12))
    net(x)
    for name, p in net.collect_params().items():
        p.set_data(mx.nd.array(leaving.numbers(name, p.shape)))
    y = net(x)
    FOLDER.mkdir(exist_ok=True)
    net.export(str(FOLDER / "net"))
    files.write(FOLDER / "outputs.npz", {"y": y.asnumpy()}, files.versions("mxnet"))


if __name__ == "__main__":
    main()
