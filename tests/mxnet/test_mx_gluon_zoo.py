"""The models of images."""

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import autograd, gluon, nd
from compatgrad.mxnet.gluon.model_zoo import model_store, vision


@pytest.mark.parametrize(
    "name, parameters, numbers",
    # as the original has them
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


def test_models_by_name_and_files(tmp_path):
    with pytest.raises(ValueError, match="(?s)nothing is not supported.*resnet101_v1"):
        vision.get_model("nothing")
    with pytest.raises(FileNotFoundError, match="resnet18_v1-a0666292.params"):
        vision.resnet18_v1(pretrained=True, root=str(tmp_path))
    with pytest.raises(ValueError, match="not available"):
        model_store.get_model_file("nothing")
    (tmp_path / "alexnet-44335d1f.params").write_bytes(b"")
    with pytest.raises(ValueError, match="SHA-1"):
        vision.alexnet(pretrained=True, root=str(tmp_path))
