"""Datasets of rows and columns (`chainer.dataset.tabular`)."""

from compatgrad.chainer.dataset.tabular import tabular_dataset
from compatgrad.chainer.dataset.tabular.delegate_dataset import DelegateDataset
from compatgrad.chainer.dataset.tabular.from_data import from_data

__all__ = ["DelegateDataset", "from_data", "tabular_dataset"]
