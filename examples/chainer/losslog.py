"""Prints a table of the training progress and records the values of every iteration."""

import json
import time


class LossLog:
    def __init__(self, columns):
        self.columns = columns
        self.records = []
        self._start = time.time()
        print("  ".join("{:>12}".format(c) for c in ("iteration",) + tuple(columns) + ("elapsed",)))

    def add(self, **values):
        self.records.append({k: float(v) for k, v in values.items()})

    def mean(self, name, last):
        values = [r[name] for r in self.records[-last:]]
        return sum(values) / len(values)

    def show(self, last, **extra):
        """Print one row: the means over the last iterations, and the values in `extra`."""
        row = ["{:12d}".format(len(self.records))]
        for c in self.columns:
            row.append("{:12.5f}".format(extra[c] if c in extra else self.mean(c, last)))
        row.append("{:10.1f} s".format(time.time() - self._start))
        print("  ".join(row), flush=True)

    def save(self, path):
        with open(path, "w") as f:
            json.dump(self.records, f, indent=1)
