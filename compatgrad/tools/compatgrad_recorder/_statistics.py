"""Statistics of arrays, from which the difference of two arrays that were never in one process can be estimated."""

import math
import zlib
from typing import Any

import numpy as np

WIDTH = 16384  # elements per block: of so many, OpenBLAS computes a product in one thread; several cost ten times more


class Statistics:
    """Computes the statistics of arrays."""

    def __init__(self) -> None:
        rng = np.random.RandomState(20)
        row = rng.standard_normal(WIDTH).astype(np.float32)
        self.rows: Any = {"f": row.view(np.complex64), "d": row.astype(np.float64).view(np.complex128)}
        self.weights: Any = np.exp(2j * np.pi * rng.random_sample(4096)).tolist()  # of the blocks
        self.known: Any = {}  # statistics of parameters, which functions read after an update
        self.raises = False  # whether NumPy's products look at the settings of `np.errstate`, as newer ones do
        try:
            with np.errstate(all="raise"):
                self.products(np.full(4, np.inf, np.float32))
        except FloatingPointError:
            self.raises = True

    def products(self, x: Any) -> Any:
        """The square of the norm of a flat array, and its products with two random vectors, as one complex number.

        Each pair of elements counts as a complex number: so both products need one pass.
        """
        row = self.rows.get(x.dtype.char)
        if row is None:
            x, row = x.astype(np.float64), self.rows["d"]
        pairs, half, square, found = x[: x.size // 2 * 2].view(row.dtype), WIDTH // 2, 0.0, 0j
        for k in range(0, pairs.size, half):
            part = pairs[k : k + half]
            square += float(np.vdot(part, part).real)
            found += self.weights[k // half % 4096] * complex(np.dot(part, row[: part.size]))
        if x.size % 2:
            square += float(x[-1]) ** 2
            found += float(x[-1]) * complex(row[-1])
        return square, found

    def of(self, a: Any, parameter: bool = False) -> Any:
        """The statistics of an array. Those of a parameter are kept until the next update, because functions read it.

        The statistics are: minimum, maximum and mean for integers (None for other dtypes); norm; numbers of NaN and of
        infinities; a checksum; and the two products.
        """
        flat = np.ascontiguousarray(a).reshape(-1)
        data = flat.view(np.uint8)
        if data.size < 4096:
            check = zlib.crc32(data.tobytes())
        else:  # the sum of 64-bit words is ten times as fast as a CRC; the dot products depend on the order
            whole = data.size // 8 * 8
            check = int(np.add.reduce(data[:whole].view(np.uint64), dtype=np.uint64))
            if whole < data.size:
                check ^= zlib.crc32(data[whole:].tobytes())
        if not parameter and not self.known:
            return self.compute(a, flat, check)
        key = a.dtype.num, data.size, check, data[:64].tobytes(), data[-64:].tobytes()
        found = self.known.get(key)
        if found is None:
            found = self.compute(a, flat, check)
            if parameter:
                self.known[key] = found
        return found

    def compute(self, a: Any, flat: Any, check: int) -> Any:
        if self.raises:
            with np.errstate(all="ignore"):
                return self.computed(a, flat, check)
        return self.computed(a, flat, check)

    def computed(self, a: Any, flat: Any, check: int) -> Any:
        x, kind = flat, a.dtype.kind
        range_: Any = [None, None, None]
        if kind == "c":
            x = flat.view(flat.real.dtype)
        elif kind != "f":
            x = flat.astype(np.float64)
            range_ = [float(x.min()), float(x.max()), float(x.mean())]
        elif a.dtype.itemsize == 2:
            x = flat.astype(np.float32)
        if not x.dtype.isnative:
            x = x.astype(x.dtype.newbyteorder("="))
        square, found = self.products(x)
        nans = infinities = 0
        if not math.isfinite(square) or square < 1e-30 and x.any():  # squares may be too large or small for float32
            nans, infinities = int(np.isnan(x).sum()), int(np.isinf(x).sum())
            if nans or infinities:
                x = np.where(np.isfinite(x), x, 0)
            x = x.astype(np.float64)
            square, found = self.products(x)
        return range_ + [math.sqrt(square), nans, infinities, check, found.real, found.imag]
