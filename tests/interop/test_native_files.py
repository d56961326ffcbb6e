"""Files that the originals wrote become torch source and state dicts, which compute what the originals computed."""

import importlib.util
import shutil
import zipfile

import numpy as np
import pytest
import torch

import compatgrad.chainer.links as L
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
import compatgrad.nnabla.parametric_functions as PF
from compatgrad import interop
from compatgrad.chainer.serializers import npz
from compatgrad.nnabla.utils.save import save
from compatgrad.tools import convert
from tests.golden import chainer_leaving, leaving
from tests.golden.files import GOLDEN
from tests.interop.test_native_layers import imports

NNP = GOLDEN / "nnabla_leaving" / "net.nnp"
SYMBOL = GOLDEN / "mxnet_leaving" / "net-symbol.json"
PARAMS = GOLDEN / "mxnet_leaving" / "net-0000.params"


def run(*arguments, code=0):
    assert convert.main([str(a) for a in arguments]) == code


def module_of(source, name):
    """The module in a saved file, with the state dict beside it."""
    assert imports(source.read_text()) <= {"torch", "math"}
    spec = importlib.util.spec_from_file_location(name, source)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    module = getattr(made, name)()
    module.load_state_dict(torch.load(source.with_suffix(".pt")))
    return module.eval()


def close(found, expected):
    expected = np.asarray(expected)
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=0, atol=2e-5 * np.abs(expected).max())


def outputs(path):
    with np.load(path) as file:
        return {name: file[name] for name in file.files if name != "versions"}


def test_resnet50_of_chainer(tmp_path):
    """The state dict from the .npz file fits the source from a network with other parameters."""
    network = L.ResNet50Layers(pretrained_model=None)
    x = torch.from_numpy(leaving.images(2, 3, 64, 64))
    result = interop.to_native(network, x, kwargs={"layers": ["pool5", "fc6", "prob"]}, train=False, check=False)
    np.savez(tmp_path / "resnet50.npz", **chainer_leaving.parameters(network, npz))
    run(tmp_path / "resnet50.npz", tmp_path / "resnet50.pt", "--to", "torch")
    assert imports(result.source) <= {"torch"} and result.source.count("nn.Conv2d") > 10
    result.module.load_state_dict(torch.load(tmp_path / "resnet50.pt"))
    found = result.module(x)
    for name, expected in outputs(GOLDEN / "chainer_leaving.npz").items():
        close(found[name], expected)


def test_nnp_file(tmp_path, capsys):
    run(NNP, tmp_path / "made", "--to", "torch")
    text = capsys.readouterr().out
    assert "class Net; eval mode differs by at most" in text and "note" not in text
    module = module_of(tmp_path / "made" / "net.py", "Net")
    x = torch.from_numpy(leaving.images(3, 3, 12, 12))
    expected = outputs(NNP.with_name("outputs.npz"))["y"]
    close(module(x), expected)
    close(module(x[:1]), expected[:1])
    assert "def forward(self, x):" in (tmp_path / "made" / "net.py").read_text()


@pytest.mark.parametrize("kind", ["h5", "protobuf"])
def test_trained_values_go_back_into_a_nnp_file(tmp_path, kind):
    like = NNP
    if kind == "protobuf":
        like = tmp_path / "like.nnp"
        nn.clear_parameters()
        nn.load_parameters(str(NNP))
        nn.save_parameters(str(tmp_path / "parameter.protobuf"))
        with zipfile.ZipFile(NNP) as old, zipfile.ZipFile(like, "w") as new:
            for name in ("nnp_version.txt", "network.nntxt"):
                new.writestr(name, old.read(name))
            new.write(tmp_path / "parameter.protobuf", "parameter.protobuf")
    run(like, tmp_path / "net.py", "--to", "torch")
    module = module_of(tmp_path / "net.py", "Net")
    with torch.no_grad():
        for p in module.parameters():
            p.add_(0.1 * torch.randn(p.shape, generator=torch.Generator().manual_seed(0)))
    torch.save(module.state_dict(), tmp_path / "trained.pt")
    run(tmp_path / "trained.pt", tmp_path / "trained.nnp", "--like", like)
    graph = nn.graph_def.load(str(tmp_path / "trained.nnp"))
    x = nn.Variable((3, 3, 12, 12))
    x.d = leaving.images(3, 3, 12, 12)
    y = graph["net"](x)
    y.forward()
    close(module(torch.from_numpy(x.d.copy())), y.d)
    nn.clear_parameters()


def test_weights_of_a_nnp_file_under_the_names_in_the_file(tmp_path):
    run(NNP, tmp_path / "a.pt", "--to", "torch")
    tensors = torch.load(tmp_path / "a.pt")
    assert "b1.conv1.weight" in tensors
    run(tmp_path / "a.pt", tmp_path / "same.nnp", "--like", NNP)
    run(tmp_path / "same.nnp", tmp_path / "b.pt", "--to", "torch")
    again = torch.load(tmp_path / "b.pt")
    assert all(torch.equal(t, again[name]) for name, t in tensors.items())


def test_symbol_with_parameters(tmp_path):
    shape = ["--params", PARAMS, "--input", "data=3x3x12x12"]
    run(SYMBOL, tmp_path / "made", "--to", "torch", *shape)
    module = module_of(tmp_path / "made" / "net.py", "Net")
    x = torch.from_numpy(leaving.images(3, 3, 12, 12))
    expected = outputs(SYMBOL.with_name("outputs.npz"))["y"]
    close(module(x), expected)
    close(module(x[1:]), expected[1:])
    with torch.no_grad():
        for p in module.parameters():
            p.add_(0.1 * torch.randn(p.shape, generator=torch.Generator().manual_seed(0)))
    torch.save(module.state_dict(), tmp_path / "trained.pt")
    run(tmp_path / "trained.pt", tmp_path / "net-0001.params", "--like", SYMBOL, *shape)
    block = mx.gluon.SymbolBlock.imports(str(SYMBOL), ["data"], str(tmp_path / "net-0001.params"))
    close(module(x), block(mx.nd.array(x.numpy())).asnumpy())


def test_losses_at_the_end_of_a_symbol(tmp_path):
    """SoftmaxOutput computes a softmax; its backward, the gradient of a loss, is no derivative."""
    data = mx.sym.var("data")
    words = mx.sym.Embedding(data, input_dim=7, output_dim=3)
    symbol = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(words, num_hidden=4), name="softmax")
    symbol.save(str(tmp_path / "net-symbol.json"))
    values = {f"arg:{n}": mx.nd.array(leaving.numbers(n, s)) for n, s in
              zip(symbol.list_arguments(), symbol.infer_shape(data=(2, 5))[0], strict=True)
              if n not in ("data", "softmax_label")}  # fmt: skip
    mx.nd.save(str(tmp_path / "net-0000.params"), values)
    run(tmp_path / "net-symbol.json", tmp_path / "net.py", "--to", "torch", "--params", tmp_path / "net-0000.params",
        "--input", "data=2x5:int")  # fmt: skip
    found = module_of(tmp_path / "net.py", "Net")(torch.tensor([[1.0, 2, 3, 0, 6]]))
    assert found.shape == (1, 4) and abs(float(found.sum().detach()) - 1) < 1e-6


def test_what_cannot_be_written_is_said(tmp_path, capsys):
    nn.clear_parameters()
    x = nn.Variable((2, 3))
    y = NF.top_k_data(PF.affine(x, 4), 1)
    save(str(tmp_path / "a.nnp"), {
        "networks": [{"name": n, "batch_size": 2, "outputs": {"y": y}, "names": {"x": x}} for n in ("one", "two")],
    })  # fmt: skip
    run(tmp_path / "a.nnp", tmp_path / "made", "--to", "torch", code=1)
    assert "contains the networks one, two: --network NAME chooses one" in capsys.readouterr().err
    run(tmp_path / "a.nnp", tmp_path / "made", "--to", "torch", "--network", "three", code=1)
    assert "expected one of one, two, got 'three'" in capsys.readouterr().err
    run(tmp_path / "a.nnp", tmp_path / "made", "--to", "torch", "--network", "one", "--input", "z=2x3", code=1)
    assert "expected names of x, got 'z'" in capsys.readouterr().err
    run(SYMBOL, tmp_path / "made", "--to", "torch", code=1)
    assert "--params FILE.params is missing" in capsys.readouterr().err
    run(SYMBOL, tmp_path / "made", "--to", "torch", "--params", PARAMS, code=1)
    assert "the inputs are data: --input data=SHAPE is missing" in capsys.readouterr().err
    run(SYMBOL, tmp_path / "made", "--to", "torch", "--params", PARAMS, "--input", "data:3", code=1)
    assert "expected NAME=SHAPE" in capsys.readouterr().err
    custom = tmp_path / "custom-symbol.json"  # as a program saves it whose operator is registered
    custom.write_text(mx.sym.tanh(mx.sym.var("data"), name="y").tojson().replace(
        '"op": "tanh"', '"op": "Custom", "attrs": {"op_type": "defined_elsewhere"}'))  # fmt: skip
    run(custom, tmp_path / "made", "--to", "torch", "--params", PARAMS, "--input", "data=2x3", code=1)
    error = capsys.readouterr().err
    assert "custom-symbol.json: the network cannot run: Custom: op_type 'defined_elsewhere'" in error
    with pytest.raises(SystemExit):
        run(PARAMS, tmp_path / "a.pt", "--to", "torch", "--input", "data=3")
    assert "are for networks" in capsys.readouterr().err
    nn.clear_parameters()


def test_files_are_not_replaced(tmp_path, capsys):
    shutil.copy(NNP, tmp_path / "net.nnp")
    (tmp_path / "net.py").write_text("mine")
    run(tmp_path / "net.nnp", tmp_path / "net.py", "--to", "torch", code=1)
    assert "exists" in capsys.readouterr().err and (tmp_path / "net.py").read_text() == "mine"
    run(tmp_path / "net.nnp", tmp_path / "net.py", "--to", "torch", "--force")
