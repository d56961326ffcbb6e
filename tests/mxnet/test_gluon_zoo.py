"""Gluon's model zoo: image models."""

import functools
import hashlib
import http.server
import threading
import zipfile

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import autograd, gluon, nd
from compatgrad.mxnet.gluon.model_zoo import model_store, vision


@pytest.mark.parametrize(
    "name, parameters, numbers",
    # numbers of arrays and of their elements in the original
    [
        ("resnet18_v1", 102, 11699112),
        ("resnet50_v2", 259, 25595060),
        ("vgg11_bn", 54, 132874344),
        ("densenet121", 606, 8062504),
        ("mobilenetv2_0.25", 266, 1526856),
        ("squeezenet1.1", 52, 1235496),
        ("inceptionv3", 472, 23869000),
        ("alexnet", 16, 61100840),
    ],
)
def test_models_have_the_original_parameters(name, parameters, numbers):
    net = vision.get_model(name)
    size = 299 if name == "inceptionv3" else 224
    net.infer_shape(nd.zeros((1, 3, size, size)))
    shapes = [param.shape for param in net.collect_params().values()]
    assert (len(shapes), sum(int(np.prod(shape)) for shape in shapes)) == (parameters, numbers)


def test_a_model_trains():
    net = vision.resnet18_v2(classes=4, thumbnail=True)
    net.initialize(mx.init.Xavier())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05})
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    random = np.random.RandomState(0)
    x, y = nd.array(random.rand(8, 3, 16, 16)), nd.array(np.arange(8) % 4)
    values = []
    for _ in range(5):
        with autograd.record():
            value = loss(net(x), y).mean()
        value.backward()
        trainer.step(1)
        values.append(value.asscalar())
    assert values[-1] < values[0]


def test_models_by_name_and_files(tmp_path, monkeypatch):
    monkeypatch.setenv("MXNET_GLUON_REPO", "http://127.0.0.1:9/")
    with pytest.raises(ValueError, match="(?s)nothing is not supported.*resnet101_v1"):
        vision.get_model("nothing")
    with pytest.raises(FileNotFoundError, match="resnet18_v1-a0666292.params, and cannot be downloaded"):
        vision.resnet18_v1(pretrained=True, root=str(tmp_path))
    with pytest.raises(ValueError, match="not available"):
        model_store.get_model_file("nothing")


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A folder whose files are served from this machine instead of MXNet's server."""
    folder = tmp_path / "server" / "gluon" / "models"
    folder.mkdir(parents=True)
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path / "server"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        monkeypatch.setenv("MXNET_GLUON_REPO", f"http://127.0.0.1:{running.server_port}/")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield folder
        running.shutdown()


def test_weights_are_downloaded_once(tmp_path, monkeypatch, server, caplog):
    net = vision.mobilenet0_25()
    net.initialize(mx.init.Xavier())
    net(nd.zeros((1, 3, 32, 32)))
    net.save_parameters(str(tmp_path / "weights"))
    weights = (tmp_path / "weights").read_bytes()
    sha1 = hashlib.sha1(weights).hexdigest()
    monkeypatch.setitem(model_store._model_sha1, "mobilenet0.25", sha1)
    name = f"mobilenet0.25-{sha1[:8]}"
    with zipfile.ZipFile(server / f"{name}.zip", "w") as archive:
        archive.writestr(f"{name}.params", weights)
    root = tmp_path / "models"
    x = nd.ones((1, 3, 32, 32))
    for _ in range(2):
        loaded = vision.mobilenet0_25(pretrained=True, root=str(root))
        np.testing.assert_array_equal(loaded(x).asnumpy(), net(x).asnumpy())
        assert [file.name for file in root.iterdir()] == [f"{name}.params"]
        (server / f"{name}.zip").unlink(missing_ok=True)  # the second call downloads nothing

    (root / f"{name}.params").write_bytes(b"damaged")
    with zipfile.ZipFile(server / f"{name}.zip", "w") as archive:
        archive.writestr(f"{name}.params", b"other")
    with pytest.raises(ValueError, match="does not hold the file of mobilenet0.25: its SHA-1 differs"):
        vision.mobilenet0_25(pretrained=True, root=str(root))
    assert "Downloading again" in caplog.text
    assert (root / f"{name}.params").read_bytes() == b"damaged" and len(list(root.iterdir())) == 1
