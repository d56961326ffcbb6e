"""What names that pandas removed did."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd


def as_matrix(self: Any, columns: Any = None) -> np.ndarray:
    chosen = self if columns is None else self[columns]
    return np.asarray(chosen.values)


def _from_csv(
    cls: Any,
    path: Any,
    header: Any = 0,
    sep: str = ",",
    index_col: Any = 0,
    parse_dates: Any = True,
    encoding: str | None = None,
    **options: Any,
) -> Any:
    return pd.read_csv(
        path, header=header, sep=sep, index_col=index_col, parse_dates=parse_dates, encoding=encoding, **options
    )


from_csv: Any = classmethod(_from_csv)  # type: ignore[arg-type]


def get_value(self: Any, index: Any, col: Any, takeable: bool = False) -> Any:
    return self.iat[index, col] if takeable else self.at[index, col]


def sort(self: Any, columns: Any = None, axis: Any = 0, ascending: Any = True, inplace: bool = False, **_: Any) -> Any:
    if columns is None:
        return self.sort_index(axis=axis, ascending=ascending, inplace=inplace)
    return self.sort_values(columns, axis=axis, ascending=ascending, inplace=inplace)


def order(self: Any, na_last: Any = None, ascending: bool = True, **_: Any) -> Any:
    return self.sort_values(ascending=ascending, na_position="first" if na_last is False else "last")


def append(
    self: Any, other: Any, ignore_index: bool = False, verify_integrity: bool = False, sort: bool = False
) -> Any:
    """A frame with the rows of this one and of `other`: a frame, a row (Series, dict), or a list of them."""
    if isinstance(other, dict):
        other = pd.Series(other)
    if isinstance(other, pd.Series):
        if other.name is None and not ignore_index:
            raise TypeError("Can only append a Series if ignore_index=True or if the Series has a name")
        other = other.to_frame().T.infer_objects()
    elif isinstance(other, list) and other and not isinstance(other[0], pd.DataFrame):
        other = pd.DataFrame(other)
    others = other if isinstance(other, (list, tuple)) else [other]
    frames = [frame for frame in (self, *others) if frame.shape != (0, 0)]
    if not frames:
        return self.copy()
    return pd.concat(frames, ignore_index=ignore_index, verify_integrity=verify_integrity, sort=sort)


def append_series(self: Any, to_append: Any, ignore_index: bool = False, verify_integrity: bool = False) -> Any:
    others = to_append if isinstance(to_append, (list, tuple)) else [to_append]
    return pd.concat([self, *others], ignore_index=ignore_index, verify_integrity=verify_integrity)


class _Labels:
    """Indexing by labels and, where the labels are not numbers, by positions as well."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def _labels(self, key: Any, axis: int) -> Any:
        index = self.data.axes[axis]
        if isinstance(key, slice):
            whole = all(part is None or isinstance(part, (int, np.integer)) for part in (key.start, key.stop, key.step))
            return index[key] if whole and not pd.api.types.is_numeric_dtype(index) else key
        if pd.api.types.is_numeric_dtype(index):
            return key
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            return index[key]
        if isinstance(key, (list, np.ndarray)) and len(key):
            kind = np.asarray(key).dtype.kind
            return index[np.asarray(key)] if kind in "iu" else key
        return key

    def _all(self, key: Any) -> Any:
        if isinstance(key, tuple) and self.data.ndim > 1:
            return tuple(self._labels(one, axis) for axis, one in enumerate(key))
        return self._labels(key, 0)

    def __getitem__(self, key: Any) -> Any:
        return self.data.loc[self._all(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data.loc[self._all(key)] = value


ix = property(_Labels)


def _rolling(name: str) -> Any:
    def function(
        arg: Any, window: int, min_periods: int | None = None, freq: Any = None, center: bool = False, **options: Any
    ) -> Any:
        data = arg if hasattr(arg, "rolling") else pd.Series(np.asarray(arg))
        found = getattr(data.rolling(window, min_periods=min_periods, center=center), name)(**options)
        return found if hasattr(arg, "rolling") else found.to_numpy()

    return function


rolling_mean, rolling_median, rolling_std, rolling_var = map(_rolling, ("mean", "median", "std", "var"))
rolling_sum, rolling_min, rolling_max = map(_rolling, ("sum", "min", "max"))
