"""Parameter files under torch's names and layouts, and back: `convert --to torch` and `convert --like`."""

import numpy as np
import pytest
import torch

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.parametric_functions as PF
from compatgrad.interop import weights
from compatgrad.mxnet import gluon
from compatgrad.tools import convert


def run(*arguments):
    assert convert.main([str(a) for a in arguments]) == 0


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv, self.norm, self.out = L.Convolution2D(3, 4, 3), L.BatchNormalization(4), L.Linear(4, 2)
            self.cell = L.LSTM(2, 3)

    def forward(self, x):
        self.cell.reset_state()
        return self.cell(self.out(F.mean(F.relu(self.norm(self.conv(x))), axis=(2, 3))))


class TorchNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.out = torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4, 2e-5), torch.nn.Linear(4, 2)
        self.cell = torch.nn.LSTMCell(2, 3)

    def forward(self, x):
        return self.cell(self.out(torch.relu(self.norm(self.conv(x))).mean((2, 3))))[0]


def some(shape):
    return np.random.RandomState(0).normal(size=shape).astype("f")


@pytest.mark.parametrize("ending", [".npz", ".h5"])
def test_chainer_there_and_back(tmp_path, ending):
    save, load = (
        (chainer.serializers.save_npz, chainer.serializers.load_npz)
        if ending == ".npz"
        else (chainer.serializers.save_hdf5, chainer.serializers.load_hdf5)
    )
    net, x = Net(), some((5, 3, 6, 6))
    with chainer.using_config("train", True):
        net(x)
    save(tmp_path / f"a{ending}", net)
    run(tmp_path / f"a{ending}", tmp_path / "a.pt", "--to", "torch")
    own = TorchNet().eval()
    own.load_state_dict(torch.load(tmp_path / "a.pt"))
    with chainer.using_config("train", False):
        expected = net(x).array
    np.testing.assert_allclose(own(torch.from_numpy(x)).detach().numpy(), expected, rtol=1e-4, atol=1e-6)
    with torch.no_grad():
        for p in own.parameters():
            p.add_(0.1 * torch.randn_like(p))
        own.cell.bias_hh.zero_()
    torch.save(own.state_dict(), tmp_path / "b.pt")
    run(tmp_path / "b.pt", tmp_path / f"b{ending}", "--like", tmp_path / f"a{ending}")
    load(tmp_path / f"b{ending}", net)
    with chainer.using_config("train", False):
        found = net(x).array
    np.testing.assert_allclose(found, own(torch.from_numpy(x)).detach().numpy(), rtol=1e-4, atol=1e-6)


def test_steps_of_lstm_have_torchs_gates(tmp_path):
    link, xs = L.NStepBiLSTM(2, 3, 4, 0.0), [some((5, 3)), some((5, 3))]
    chainer.serializers.save_npz(tmp_path / "a.npz", link)
    run(tmp_path / "a.npz", tmp_path / "a.pt", "--to", "torch")
    own = torch.nn.LSTM(3, 4, 2, bidirectional=True)
    own.load_state_dict(torch.load(tmp_path / "a.pt"))
    _, _, ys = link(None, None, xs)
    found = own(torch.from_numpy(np.stack(xs, 1)))[0][:, 0].detach().numpy()
    np.testing.assert_allclose(found, ys[0].array, rtol=1e-4, atol=1e-6)


def test_steps_of_gru_have_torchs_gates(tmp_path):
    link, xs = L.NStepGRU(1, 3, 4, 0.0), [some((5, 3))]
    chainer.serializers.save_npz(tmp_path / "a.npz", link)
    run(tmp_path / "a.npz", tmp_path / "a.pt", "--to", "torch")
    own = torch.nn.GRU(3, 4)
    own.load_state_dict(torch.load(tmp_path / "a.pt"))
    found = own(torch.from_numpy(xs[0])[:, None])[0][:, 0].detach().numpy()
    np.testing.assert_allclose(found, link(None, xs)[1][0].array, rtol=1e-4, atol=1e-6)


def test_layers_or_directions_are_not_guessed():
    shapes = {n: (4, 4) if n[2] == "w" else (4,) for i in "01" for n in (f"{i}/{k}{j}" for k in "wb" for j in range(8))}
    tensors = {n: torch.zeros(s) for n, s in shapes.items()}
    found, kept = weights.to_torch(tensors, "chainer")
    assert set(kept) == set(shapes) and set(found) == {n.replace("/", ".") for n in shapes}
    assert "both directions or two layers" in kept["0/w0"]


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_gluon_there_and_back(tmp_path, kind):
    net = gluon.nn.Sequential()
    net.add(getattr(gluon.rnn, kind)(4, 2, bidirectional=True, input_size=3), gluon.nn.BatchNorm(axis=2, in_channels=8),
            gluon.nn.Dense(2, in_units=8, flatten=False))  # fmt: skip
    net.initialize(mx.init.Xavier())
    x = some((5, 2, 3))
    net.save_parameters(str(tmp_path / "a.params"))
    run(tmp_path / "a.params", tmp_path / "a.pt", "--to", "torch")
    own = torch.nn.ModuleList([getattr(torch.nn, kind)(3, 4, 2, bidirectional=True), torch.nn.BatchNorm1d(8),
                               torch.nn.Linear(8, 2)])  # fmt: skip
    assert not own.load_state_dict(torch.load(tmp_path / "a.pt"), strict=False).unexpected_keys
    own.eval()

    def computed():
        return own[2](own[1](own[0](torch.from_numpy(x))[0].transpose(1, 2)).transpose(1, 2)).detach().numpy()

    np.testing.assert_allclose(computed(), net(mx.nd.array(x)).asnumpy(), rtol=1e-4, atol=1e-5)
    with torch.no_grad():
        for p in own.parameters():
            p.add_(0.1 * torch.randn_like(p))
    torch.save(own.state_dict(), tmp_path / "b.pt")
    run(tmp_path / "b.pt", tmp_path / "b.params", "--like", tmp_path / "a.params")
    net.load_parameters(str(tmp_path / "b.params"))
    np.testing.assert_allclose(computed(), net(mx.nd.array(x)).asnumpy(), rtol=1e-4, atol=1e-5)


def test_nnabla_there_and_back(tmp_path):
    nn.clear_parameters()
    x = nn.Variable((4, 3, 6, 6))
    x.d = some(x.shape)

    def net():
        h = PF.convolution(x, 4, (3, 3), name="first")
        return PF.affine(PF.batch_normalization(h, batch_stat=False, name="norm"), 5, name="last")

    y = net()
    y.forward()
    nn.save_parameters(str(tmp_path / "a.h5"))
    run(tmp_path / "a.h5", tmp_path / "a.pt", "--to", "torch")
    own = torch.nn.ModuleDict({"first": torch.nn.Conv2d(3, 4, 3), "norm": torch.nn.BatchNorm2d(4),
                               "last": torch.nn.Linear(64, 5)}).eval()  # fmt: skip
    assert not own.load_state_dict(torch.load(tmp_path / "a.pt"), strict=False).unexpected_keys

    def computed():
        return own["last"](own["norm"](own["first"](torch.from_numpy(x.d.copy()))).flatten(1)).detach().numpy()

    np.testing.assert_allclose(computed(), y.d, rtol=1e-4, atol=1e-5)
    with torch.no_grad():
        for p in own.parameters():
            p.add_(0.1 * torch.randn_like(p))
    torch.save(own.state_dict(), tmp_path / "b.pt")
    run(tmp_path / "b.pt", tmp_path / "b.h5", "--like", tmp_path / "a.h5")
    nn.clear_parameters()
    nn.load_parameters(str(tmp_path / "b.h5"))
    y = net()
    y.forward()
    np.testing.assert_allclose(computed(), y.d, rtol=1e-4, atol=1e-5)
    nn.clear_parameters()


def test_errors_name_the_tensor(tmp_path, capsys):
    chainer.serializers.save_npz(tmp_path / "a.npz", L.Linear(3, 2))
    torch.save({"weight": torch.ones(2, 4), "bias": torch.ones(2)}, tmp_path / "b.pt")
    arguments = [str(tmp_path / "b.pt"), str(tmp_path / "b.npz"), "--like", str(tmp_path / "a.npz")]
    assert convert.main(arguments) == 1
    assert "weight: expected shape (2, 3) in the original's layout, found (2, 4)" in capsys.readouterr().err
    torch.save({"weight": torch.ones(2, 3)}, tmp_path / "b.pt")
    assert convert.main(arguments) == 1
    assert "bias is missing" in capsys.readouterr().err
    assert not (tmp_path / "b.npz").exists()
    torch.save({"weight": torch.ones(2, 3), "bias": torch.ones(2), "more": torch.ones(1)}, tmp_path / "b.pt")
    assert convert.main(arguments) == 0
    assert "more" in capsys.readouterr().out


def test_a_snapshot_without_an_extension_and_back(tmp_path, capsys):
    old, new = L.Linear(3, 2), L.Linear(3, 2)
    with open(tmp_path / "model_iter_10", "wb") as file:  # as extensions.snapshot_object does
        chainer.serializers.save_npz(file, old)
    torch.save({"weight": torch.full((2, 3), 7.0), "bias": torch.ones(2)}, tmp_path / "a.pt")
    for name in ("b.npz", "model_iter_11"):
        run(tmp_path / "a.pt", tmp_path / name, "--like", tmp_path / "model_iter_10")
        chainer.serializers.load_npz(tmp_path / name, new)
        assert (new.W.array == 7).all() and (new.b.array == 1).all()
    wrong = [tmp_path / "a.pt", tmp_path / "b.h5", "--like", tmp_path / "model_iter_10"]
    assert convert.main([str(a) for a in wrong]) == 1
    assert "b.h5: expected a name that ends in .npz, the format of " in capsys.readouterr().err


def test_unknown_parameters_are_kept_and_named(tmp_path, capsys):
    link = chainer.Link()
    with link.init_scope():
        link.odd = chainer.Parameter(some((2, 3)))
    chainer.serializers.save_npz(tmp_path / "a.npz", link)
    run(tmp_path / "a.npz", tmp_path / "a.pt", "--to", "torch")
    assert "not renamed: odd:" in capsys.readouterr().out
    assert list(torch.load(tmp_path / "a.pt")) == ["odd"]
