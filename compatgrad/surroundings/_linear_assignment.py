"""`sklearn.utils.linear_assignment_`."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment


def linear_assignment(X: Any) -> np.ndarray:
    """The cheapest assignment as pairs (row, column), in the order of the rows."""
    return np.stack(linear_sum_assignment(X), axis=1).reshape(-1, 2)
