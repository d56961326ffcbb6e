"""Trained networks from files, and files with repeated layers, compared with nnabla's results."""

import importlib
import urllib.error

import numpy as np
import pytest

import compatgrad.nnabla as nn
from compatgrad.nnabla.contrib.context import extension_context
from compatgrad.nnabla.ext_utils import get_extension_context
from compatgrad.nnabla.models import imagenet, object_detection
from compatgrad.nnabla.models.object_detection import utils as boxes
from compatgrad.nnabla.models.semantic_segmentation import utils as labels
from compatgrad.nnabla.utils.nnp_graph import NnpLoader
from tests.golden import files
from tests.golden import nnabla_models as golden


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    golden.files(str(folder))
    return folder


@pytest.fixture(autouse=True)
def folder(home, monkeypatch):
    monkeypatch.setenv("NNABLA_MODELS", str(home))
    nn.clear_parameters()
    yield
    nn.clear_parameters()


def test_networks_of_files_give_what_nnabla_gives(home):
    expected = files.read(golden.GOLDEN)
    found = golden.results("compatgrad.nnabla", str(home))
    assert sorted(found) == sorted(expected)
    for name in expected:
        if expected[name].dtype.kind == "f":
            np.testing.assert_allclose(found[name], expected[name], rtol=2e-4, atol=2e-4, err_msg=name)
        else:
            assert found[name].tolist() == expected[name].tolist(), name


def test_images_of_another_size_need_global_pooling():
    model = imagenet.ResNet18()
    x = nn.Variable((1, 3, 12, 12))
    for key in ("classifier", "pool"):
        with pytest.raises(ValueError, match=r"over images of \[12, 12\]"):
            model(x, use_up_to=key)
    assert model(x, use_up_to="pool", check_global_pooling=False).shape == (1, 4, 1, 1)
    assert model(x, use_up_to="lastconv+relu").shape == (1, 4, 12, 12)
    y = model(x, force_global_pooling=True)
    assert y.shape == (1, 5)
    kernels = []
    y.visit(lambda f: kernels.append(f.info.args["kernel"]) if f.info.type_name == "AveragePooling" else None)
    assert kernels == [[12, 12]]


def test_wrong_arguments():
    model = imagenet.MobileNetV2()
    with pytest.raises(ValueError, match="'top' is none of 'classifier', 'pool'"):
        model(use_up_to="top")
    with pytest.raises(AssertionError, match="4 axes"):
        model(nn.Variable((3, 8, 8)))
    with pytest.raises(AssertionError, match="3 channels"):
        model(nn.Variable((1, 8, 8, 3)))
    with pytest.raises(AssertionError, match="18, 34, 50, 101 or 152"):
        imagenet.ResNet(20)
    with pytest.raises(AssertionError):
        imagenet.GoogLeNet()(with_aux_tower=True)


def test_errors_name_a_missing_file(monkeypatch, home, tmp_path):
    monkeypatch.setenv("NNABLA_MODELS_URL_BASE", tmp_path.as_uri())
    with pytest.raises(urllib.error.URLError, match=r"VGG16 needs VGG-16\.nnp.*NNABLA_MODELS_URL_BASE"):
        imagenet.VGG16()


def test_a_file_is_fetched_from_the_address_of_the_environment(monkeypatch, home, tmp_path):
    source = tmp_path / "there" / "imagenet" / "Resnet-18"
    source.mkdir(parents=True)
    (source / "Resnet-18.nnp").write_bytes((home / "imagenet" / "Resnet-18.nnp").read_bytes())
    monkeypatch.setenv("NNABLA_MODELS", str(tmp_path / "here"))
    monkeypatch.setenv("NNABLA_MODELS_URL_BASE", (tmp_path / "there").as_uri())
    assert imagenet.ResNet18()(nn.Variable((1, 3, 8, 8))).shape == (1, 5)
    assert (tmp_path / "here" / "imagenet" / "Resnet-18.nnp").exists()


def test_category_names_come_from_a_file(home):
    model = imagenet.ResNet18()
    path = home / "imagenet" / "category_names.txt"
    with pytest.raises(FileNotFoundError, match=r"category_names\.txt"):
        model.category_names  # noqa: B018
    path.write_text("tench\ngoldfish\n")
    assert model.category_names == ["tench", "goldfish"]
    assert len(object_detection.base.VOC_NAMES) == 20 and len(object_detection.base.COCO_NAMES) == 80


@pytest.mark.parametrize(
    "text, error",
    [
        ('repeat_id: "Twice"', "how often 'Twice' is repeated"),
        ('repeat_id: "Other"', "has no variable"),
    ],
)
def test_a_repetition_that_is_not_whole_is_refused(tmp_path, text, error):
    path = tmp_path / "net.nntxt"
    path.write_text(
        'network { name: "net" batch_size: 1 repeat_info { id: "Other" times: 2 } '
        'variable { name: "x" type: "Buffer" shape { dim: 1 } } '
        'variable { name: "y" type: "Buffer" shape { dim: 1 } repeat_id: "Other" } '
        f'function {{ name: "f" type: "ReLU" {text} input: "x" input: "z" output: "y" }} }}'
    )
    with pytest.raises(ValueError, match=error):
        NnpLoader(str(path))


def test_boxes_of_letterboxed_images():
    pytest.importorskip("PIL")
    image = np.arange(20 * 10 * 3, dtype=np.uint8).reshape(20, 10, 3)
    box = boxes.LetterBoxTransform(image, 40, 40)
    assert box.image.shape == (40, 40, 3) and (box.new_w, box.new_h) == (20, 40)
    assert (box.image[:, :10] == 127).all() and (box.image[:, 30:] == 127).all()
    whole = np.array([[0.5, 0.5, 0.5, 1.0, 0.9, 0.8]])  # a box around the image, relative to the size of the letterbox
    np.testing.assert_allclose(box.inverse_coordinate_transform(whole), [[5, 10, 10, 20, 0.9, 0.8]])


def test_boxes_are_drawn(capsys):
    pytest.importorskip("PIL")
    image = np.zeros((60, 80, 3), np.uint8)
    found = np.array([[40, 40, 20, 10, 1.0, 0.1, 0.7], [10, 10, 5, 5, 1.0, 0.2, 0.3]])
    drawn = boxes.draw_bounding_boxes(image, found, ["cat", "dog"], colors=[(1, 2, 3), (200, 100, 50)])
    assert capsys.readouterr().out == "[INFO] dog: 70.00%\n"
    assert tuple(drawn[45, 40]) == (200, 100, 50) and not drawn[10, 10].any()
    assert not image.any()


def test_images_for_segmentation(tmp_path):
    pytest.importorskip("PIL")
    image = np.full((10, 20, 3), 255, np.uint8)
    process = labels.ProcessImage(image, 33, 33)
    x = process.pre_process()
    assert x.shape == (1, 3, 33, 33) and x.dtype == np.float32
    np.testing.assert_allclose(x[:, :, :16], 1.0, atol=1e-6)  # the resized image has 33 x 16 pixels
    np.testing.assert_allclose(x[:, :, 16:], 0.0, atol=1e-6)
    out = process.post_process(np.full((33, 33, 1), 3, np.uint8))
    assert out.shape[:2] == (10, 20)
    process.post_proc = out.reshape(10, 20)
    process.save_segmentation_image(str(tmp_path / "labels.png"))
    assert (tmp_path / "labels.png").stat().st_size
    assert labels.get_color().shape == (23, 3) and labels.get_color()[5].tolist() == [120, 0, 128]


def test_every_module_has_its_class():
    for module, name in (
        ("alexnet", "AlexNet"),
        ("senet", "SENet"),
        ("shufflenet", "ShuffleNet20"),
        ("squeezenet", "SqueezeNetV10"),
        ("xception", "Xception"),
        ("resnext", "ResNeXt101"),
    ):
        found = importlib.import_module(f"compatgrad.nnabla.models.imagenet.{module}")
        assert getattr(found, name) is getattr(imagenet, name)


def test_old_name_of_contexts():
    assert str(extension_context("cpu")) == str(get_extension_context("cpu"))
