"""`sklearn.cross_validation`: its splitters were given the data's size or labels when they were
made, and are iterated over.

`StratifiedKFold` divides the classes as the installed scikit-learn does, which since 0.22 gives other folds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn import model_selection
from sklearn.model_selection import (  # noqa: F401
    check_cv,
    cross_val_predict,
    cross_val_score,
    permutation_test_score,
    train_test_split,
)


class _Splits:
    """The folds of a splitter of today, for `n` samples with labels `y` in `groups`."""

    def __init__(self, splitter: Any, n: int, y: Any = None, groups: Any = None) -> None:
        self.n = n
        self._splitter, self._labels, self._groups = splitter, y, groups

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return iter(self._splitter.split(np.zeros(self.n), self._labels, self._groups))

    def __len__(self) -> int:
        return int(self._splitter.get_n_splits(np.zeros(self.n), self._labels, self._groups))


class KFold(_Splits):
    def __init__(self, n: int, n_folds: int = 3, shuffle: bool = False, random_state: Any = None) -> None:
        super().__init__(model_selection.KFold(n_folds, shuffle=shuffle, random_state=_seed(shuffle, random_state)), n)
        self.n_folds = n_folds


class StratifiedKFold(_Splits):
    def __init__(self, y: Any, n_folds: int = 3, shuffle: bool = False, random_state: Any = None) -> None:
        splitter = model_selection.StratifiedKFold(n_folds, shuffle=shuffle, random_state=_seed(shuffle, random_state))
        super().__init__(splitter, len(y), y)
        self.y, self.n_folds = y, n_folds


class LabelKFold(_Splits):
    def __init__(self, labels: Any, n_folds: int = 3) -> None:
        super().__init__(model_selection.GroupKFold(n_folds), len(labels), groups=labels)


class LeaveOneOut(_Splits):
    def __init__(self, n: int) -> None:
        super().__init__(model_selection.LeaveOneOut(), n)


class LeavePOut(_Splits):
    def __init__(self, n: int, p: int) -> None:
        super().__init__(model_selection.LeavePOut(p), n)


class LeaveOneLabelOut(_Splits):
    def __init__(self, labels: Any) -> None:
        super().__init__(model_selection.LeaveOneGroupOut(), len(labels), groups=labels)


class LeavePLabelOut(_Splits):
    def __init__(self, labels: Any, p: int) -> None:
        super().__init__(model_selection.LeavePGroupsOut(p), len(labels), groups=labels)


class PredefinedSplit(_Splits):
    def __init__(self, test_fold: Any) -> None:
        super().__init__(model_selection.PredefinedSplit(test_fold), len(test_fold))


class ShuffleSplit(_Splits):
    def __init__(
        self, n: int, n_iter: int = 10, test_size: Any = 0.1, train_size: Any = None, random_state: Any = None
    ) -> None:
        splitter = model_selection.ShuffleSplit(
            n_iter, test_size=test_size, train_size=train_size, random_state=random_state
        )
        super().__init__(splitter, n)


class StratifiedShuffleSplit(_Splits):
    def __init__(
        self, y: Any, n_iter: int = 10, test_size: Any = 0.1, train_size: Any = None, random_state: Any = None
    ) -> None:
        splitter = model_selection.StratifiedShuffleSplit(
            n_iter, test_size=test_size, train_size=train_size, random_state=random_state
        )
        super().__init__(splitter, len(y), y)


class LabelShuffleSplit(_Splits):
    def __init__(
        self, labels: Any, n_iter: int = 5, test_size: Any = 0.2, train_size: Any = None, random_state: Any = None
    ) -> None:
        splitter = model_selection.GroupShuffleSplit(
            n_iter, test_size=test_size, train_size=train_size, random_state=random_state
        )
        super().__init__(splitter, len(labels), groups=labels)


def _seed(shuffle: bool, random_state: Any) -> Any:
    # the splitters of today refuse a seed that they do not need
    return random_state if shuffle else None
