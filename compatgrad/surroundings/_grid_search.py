"""`sklearn.grid_search`, on `sklearn.model_selection`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn import model_selection
from sklearn.model_selection import ParameterGrid, ParameterSampler  # noqa: F401


class _Score(NamedTuple):
    parameters: dict[str, Any]
    mean_validation_score: float
    cv_validation_scores: np.ndarray


def _scores(results: dict[str, Any]) -> list[_Score]:
    names = sorted((name for name in results if name.startswith("split") and name.endswith("_test_score")), key=_number)
    folds = np.stack([results[name] for name in names], axis=1)
    return [_Score(*row) for row in zip(results["params"], results["mean_test_score"], folds, strict=True)]


def _number(name: str) -> int:
    return int(name.removeprefix("split").removesuffix("_test_score"))


class _Search:
    """What both searches had: arguments of `fit` in the constructor, and `grid_scores_`."""

    fit_params: dict[str, Any] | None
    cv_results_: dict[str, Any]

    def fit(self, X: Any, y: Any = None, **options: Any) -> Any:
        return super().fit(X, y, **{**(self.fit_params or {}), **options})  # type: ignore[misc]

    @property
    def grid_scores_(self) -> list[_Score]:
        return _scores(self.cv_results_)


class GridSearchCV(_Search, model_selection.GridSearchCV):  # type: ignore[misc]
    """With three folds unless `cv` says otherwise; `grid_scores_` has the result of each combination of parameters."""

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        scoring: Any = None,
        fit_params: dict[str, Any] | None = None,
        n_jobs: int | None = 1,
        iid: bool = True,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        error_score: Any = "raise",
    ) -> None:
        super().__init__(
            estimator,
            param_grid,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=3 if cv is None else cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
        )
        self.fit_params, self.iid = fit_params, iid


class RandomizedSearchCV(_Search, model_selection.RandomizedSearchCV):  # type: ignore[misc]
    """With three folds unless `cv` says otherwise; `grid_scores_` has the result of each combination of parameters."""

    def __init__(
        self,
        estimator: Any,
        param_distributions: Any,
        n_iter: int = 10,
        scoring: Any = None,
        fit_params: dict[str, Any] | None = None,
        n_jobs: int | None = 1,
        iid: bool = True,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = "raise",
    ) -> None:
        super().__init__(
            estimator,
            param_distributions,
            n_iter=n_iter,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=3 if cv is None else cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            random_state=random_state,
            error_score=error_score,
        )
        self.fit_params, self.iid = fit_params, iid
