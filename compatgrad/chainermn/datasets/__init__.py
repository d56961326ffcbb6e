"""Functions that share a dataset among processes."""

from compatgrad.chainermn.datasets.empty_dataset import create_empty_dataset  # noqa: F401
from compatgrad.chainermn.datasets.scatter import DataSizeError, scatter_dataset, scatter_index  # noqa: F401
