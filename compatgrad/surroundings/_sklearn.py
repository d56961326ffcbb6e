"""What names that scikit-learn removed did."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer


class RandomizedPCA(PCA):  # type: ignore[misc]
    """PCA with the randomized solver."""

    def __init__(
        self,
        n_components: int | None = None,
        copy: bool = True,
        iterated_power: int = 2,
        whiten: bool = False,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_components,
            copy=copy,
            whiten=whiten,
            svd_solver="randomized",
            iterated_power=iterated_power,
            random_state=random_state,
        )


class Imputer(SimpleImputer):  # type: ignore[misc]
    """Replaces missing values, written "NaN" or as a number, by the mean, median or most frequent value of their column
    (axis 0) or row (axis 1)."""

    def __init__(
        self, missing_values: Any = "NaN", strategy: str = "mean", axis: int = 0, verbose: int = 0, copy: bool = True
    ) -> None:
        if axis not in (0, 1):
            raise ValueError(f"Can only impute missing values on axis 0 and 1, got axis={axis}")
        super().__init__(
            missing_values=np.nan if missing_values == "NaN" else missing_values, strategy=strategy, copy=copy
        )
        self.axis, self.verbose = axis, verbose

    def fit(self, X: Any, y: Any = None) -> Any:
        return self if self.axis else super().fit(X, y)

    def transform(self, X: Any) -> Any:
        if not self.axis:
            return super().transform(X)
        rows = SimpleImputer(missing_values=self.missing_values, strategy=self.strategy)
        return rows.fit_transform(np.asarray(X).T).T

    def fit_transform(self, X: Any, y: Any = None, **options: Any) -> Any:
        return self.fit(X, y).transform(X)


def fetch_mldata(dataname: str, *_: Any, **__: Any) -> Any:
    instead = "sklearn.datasets.fetch_openml(NAME, as_frame=False)"
    if "mnist" in dataname.lower():
        instead = (
            "sklearn.datasets.fetch_openml('mnist_784', version=1, as_frame=False), whose digits are in another order, "
            "and whose target contains text: target.astype(float)"
        )
    raise RuntimeError(
        f"fetch_mldata({dataname!r}): the site mldata.org, from which it downloaded, is gone, and scikit-learn 0.22 "
        f"removed the function; use {instead}"
    )


def jaccard_similarity_score(y_true: Any, y_pred: Any, normalize: bool = True, sample_weight: Any = None) -> Any:
    """For labels, the accuracy; for indicators of several labels, the mean Jaccard index of the samples."""
    from sklearn.metrics import accuracy_score

    truth, guess = np.asarray(y_true), np.asarray(y_pred)
    if truth.ndim < 2:
        return accuracy_score(truth, guess, normalize=normalize, sample_weight=sample_weight)
    common = np.sum((truth != 0) & (guess != 0), axis=1)
    either = np.sum((truth != 0) | (guess != 0), axis=1)
    scores = np.where(either == 0, 1.0, common / np.maximum(either, 1))
    return (
        np.average(scores, weights=sample_weight)
        if normalize
        else np.dot(scores, np.ones(len(scores)) if sample_weight is None else sample_weight)
    )


def safe_indexing(X: Any, indices: Any) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[indices]
    return X[indices] if hasattr(X, "shape") else [X[index] for index in indices]
