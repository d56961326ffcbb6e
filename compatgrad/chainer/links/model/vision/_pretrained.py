"""Shared code of the classifiers of ImageNet images."""

import importlib.util
import os
import sys

import numpy

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
from compatgrad.chainer import function, link, variable
from compatgrad.chainer.serializers import npz
from compatgrad.chainer.utils import argument, imgproc

available = importlib.util.find_spec("PIL") is not None


def download_caffemodel(url):
    """Creates a function that downloads a Caffe model, unless the file exists, and returns its path."""

    def find(folder):
        from compatgrad.chainer.dataset import download

        return download.cached_download(url)

    return find


def copy_weights(dst, src):
    """Copies W, and b where both links have one."""
    dst.W.array[:] = src.W.array
    if dst.b is not None and src.b is not None:
        dst.b.array[:] = src.b.array


_NO_LONGER = " argument is not supported anymore. Use chainer.using_config"


def prepare(image, size, mean):
    """An image (PIL's, or an array of shape (h, w), (1, h, w) or (3, h, w)) as an array of shape (3, h, w) in BGR,
    minus `mean`. Raises ImportError without Pillow.
    """
    try:
        from PIL import Image
    except ImportError as e:
        raise ImportError(f"PIL cannot be loaded. Install Pillow! The actual import error: {e}") from e
    if isinstance(image, numpy.ndarray):
        if image.ndim == 3:
            if image.shape[0] == 1:
                image = image[0]
            elif image.shape[0] == 3:
                image = image.transpose(1, 2, 0)
        image = Image.fromarray(image.astype(numpy.uint8))
    image = image.convert("RGB")
    if size:
        image = image.resize(size)
    dtype = chainer.get_dtype()
    image = numpy.asarray(image, dtype=dtype)[:, :, ::-1] - numpy.array(mean, dtype=dtype)
    return image.transpose(2, 0, 1)


class PretrainedChain(link.Chain):
    """A classifier as an ordered dict `functions` of layer name -> list of functions.

    Subclasses set `_mean` (the mean pixel), `_feature_layer` (the layer that `extract` returns by default) and
    `_old_argument`.
    """

    _old_argument = "test"

    @property
    def functions(self):
        """The layers by name, in order."""
        raise NotImplementedError

    @property
    def available_layers(self):
        """The names of all layers."""
        return list(self.functions)

    @classmethod
    def convert_caffemodel_to_npz(cls, path_caffemodel, path_npz):
        """Writes the weights of a Caffe model to an npz file, for the argument `pretrained_model`."""
        from compatgrad.chainer.links.caffe import caffe_function

        npz.save_npz(path_npz, cls._from_caffe(caffe_function.CaffeFunction(path_caffemodel)), compression=False)

    @classmethod
    def _from_caffe(cls, caffemodel):
        # Returns an object with the weights of a CaffeFunction under the names of this class: by default names agree.
        return caffemodel

    def _load(self, pretrained_model, name, find_caffemodel, **options):
        """Loads the npz file `pretrained_model`.

        "auto", or a name that ends with .caffemodel, stands for the file `name`.npz in the folder of downloaded data.
        Where that is missing, it is converted, with `options`, from the Caffe model at the path that
        `find_caffemodel(folder)` returns.
        """
        if pretrained_model != "auto" and not pretrained_model.endswith(".caffemodel"):
            npz.load_npz(pretrained_model, self)
            return
        from compatgrad.chainer.dataset import download

        folder = download.get_dataset_directory("pfnet/chainer/models/")

        def load(path):
            npz.load_npz(path, self)

        def convert(path):
            caffemodel = find_caffemodel(folder)
            sys.stderr.write("Now loading caffemodel (usually it may take few minutes)\n")
            self.convert_caffemodel_to_npz(caffemodel, path, **options)
            load(path)

        download.cache_or_load_file(os.path.join(folder, f"{name}.npz"), convert, load)

    def _check_kwargs(self, kwargs, *names):
        if kwargs:
            argument.check_unexpected_kwargs(kwargs, **{name: name + _NO_LONGER for name in names})
            argument.assert_kwargs_empty(kwargs)

    def _inputs(self):
        # For each layer whose input is not the output of the layer before it: the layer that gives its input.
        return {}

    def forward(self, x, layers=None, **kwargs):
        """A dict of the outputs of `layers`, of "prob" by default."""
        self._check_kwargs(kwargs, self._old_argument)
        missing = set(["prob"] if layers is None else layers)
        inputs = self._inputs()
        h, kept, activations = x, {}, {}
        for name, functions in self.functions.items():
            if not missing:
                break
            if name in inputs:
                h = kept[inputs[name]]
            for f in functions:
                h = f(h)
            if name in inputs.values():
                kept[name] = h
            if name in missing:
                activations[name] = h
                missing.remove(name)
        return activations

    def _batch(self, images, size):
        return numpy.stack([prepare(image, size, self._mean) for image in images])

    def extract(self, images, layers=None, size=(224, 224), **kwargs):
        """The outputs of `layers` for a list of images, resized to `size` (None keeps their sizes)."""
        self._check_kwargs(kwargs, self._old_argument, "volatile")
        x = variable.Variable(self.xp.asarray(self._batch(images, size)))
        return self(x, layers=[self._feature_layer] if layers is None else layers)

    def predict(self, images, oversample=True):
        """Probabilities of the classes for a list of images, averaged over ten crops with `oversample`."""
        x = self._batch(images, (256, 256))
        if oversample:
            x = imgproc.oversample(x, crop_dims=(224, 224))
        else:
            x = x[:, :, 16:240, 16:240]
        with function.no_backprop_mode(), chainer.using_config("train", False):
            y = self(variable.Variable(self.xp.asarray(x)), layers=["prob"])["prob"]
            if oversample:
                y = F.average(F.reshape(y, (len(y) // 10, 10, *y.shape[1:])), axis=1)
        return y
