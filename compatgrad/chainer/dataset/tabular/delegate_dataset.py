"""A base class of datasets made of other datasets."""

from compatgrad.chainer.dataset.tabular.tabular_dataset import DelegateDataset

__all__ = ["DelegateDataset"]
