"""A small residual network in a file of nnabla, and what nnabla computes with it.

    PYTHON -m tests.golden.nnabla_leaving

PYTHON is an interpreter that has nnabla 1.39.0, see record_nnabla.py; it needs h5py.
"""

import pathlib

from tests.golden import files, leaving

FOLDER = pathlib.Path(__file__).with_suffix("")


def main():
    import nnabla as nn
    import nnabla.functions as F
    import nnabla.parametric_functions as PF
    from nnabla.utils.save import save

    def block(x, channels, stride, name):
        with nn.parameter_scope(name):
            h = PF.convolution(x, channels, (3, 3), pad=(1, 1), stride=(stride, stride), with_bias=False, name="conv1")
            h = F.relu(PF.batch_normalization(h, batch_stat=False, name="bn1"))
            h = PF.convolution(h, channels, (3, 3), pad=(1, 1), with_bias=False, name="conv2")
            h = PF.batch_normalization(h, batch_stat=False, name="bn2")
            if x.shape[1] != channels:
                x = PF.convolution(x, channels, (1, 1), stride=(stride, stride), name="short")
            return F.relu(h + x)

    data = leaving.images(3, 3, 12, 12)
    x = nn.Variable(data.shape)
    h = PF.convolution(x, 4, (3, 3), pad=(1, 1), name="first")
    h = F.max_pooling(F.relu(PF.batch_normalization(h, batch_stat=False, name="bn")), (2, 2))
    h = block(block(h, 4, 1, "b1"), 8, 2, "b2")
    h = F.average_pooling(h, h.shape[2:])
    y = PF.affine(F.reshape(h, (h.shape[0], h.shape[1])), 5, name="out")
    for name, p in nn.get_parameters(grad_only=False).items():
        p.d = leaving.numbers(name, p.shape)
    x.d = data
    y.forward()
    network = {"name": "net", "batch_size": len(data), "outputs": {"y": y}, "names": {"x": x}}
    executor = {"name": "runtime", "network": "net", "data": ["x"], "output": ["y"]}
    FOLDER.mkdir(exist_ok=True)
    save(str(FOLDER / "net.nnp"), {"networks": [network], "executors": [executor]})
    files.write(FOLDER / "outputs.npz", {"y": y.d}, files.versions("nnabla"))


if __name__ == "__main__":
    main()
