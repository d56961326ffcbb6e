"""Datasets (`chainer.datasets`)."""

from compatgrad.chainer.datasets.cifar import get_cifar10, get_cifar100
from compatgrad.chainer.datasets.concatenated_dataset import ConcatenatedDataset
from compatgrad.chainer.datasets.dict_dataset import DictDataset
from compatgrad.chainer.datasets.fashion_mnist import get_fashion_mnist, get_fashion_mnist_labels
from compatgrad.chainer.datasets.image_dataset import (
    ImageDataset,
    LabeledImageDataset,
    LabeledZippedImageDataset,
    MultiZippedImageDataset,
    ZippedImageDataset,
)
from compatgrad.chainer.datasets.kuzushiji_mnist import get_kuzushiji_mnist, get_kuzushiji_mnist_labels
from compatgrad.chainer.datasets.mnist import get_mnist
from compatgrad.chainer.datasets.pickle_dataset import (
    PickleDataset,
    PickleDatasetWriter,
    open_pickle_dataset,
    open_pickle_dataset_writer,
)
from compatgrad.chainer.datasets.ptb import get_ptb_words, get_ptb_words_vocabulary
from compatgrad.chainer.datasets.sub_dataset import (
    SubDataset,
    get_cross_validation_datasets,
    get_cross_validation_datasets_random,
    split_dataset,
    split_dataset_n,
    split_dataset_n_random,
    split_dataset_random,
)
from compatgrad.chainer.datasets.svhn import get_svhn
from compatgrad.chainer.datasets.text_dataset import TextDataset
from compatgrad.chainer.datasets.transform_dataset import TransformDataset
from compatgrad.chainer.datasets.tuple_dataset import TupleDataset

__all__ = [
    "ConcatenatedDataset",
    "DictDataset",
    "ImageDataset",
    "LabeledImageDataset",
    "LabeledZippedImageDataset",
    "MultiZippedImageDataset",
    "PickleDataset",
    "PickleDatasetWriter",
    "SubDataset",
    "TextDataset",
    "TransformDataset",
    "TupleDataset",
    "ZippedImageDataset",
    "get_cifar10",
    "get_cifar100",
    "get_cross_validation_datasets",
    "get_cross_validation_datasets_random",
    "get_fashion_mnist",
    "get_fashion_mnist_labels",
    "get_kuzushiji_mnist",
    "get_kuzushiji_mnist_labels",
    "get_mnist",
    "get_ptb_words",
    "get_ptb_words_vocabulary",
    "get_svhn",
    "open_pickle_dataset",
    "open_pickle_dataset_writer",
    "split_dataset",
    "split_dataset_n",
    "split_dataset_n_random",
    "split_dataset_random",
]
