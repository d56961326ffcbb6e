"""All tables together, and the names of one year."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from compatgrad.surroundings import _table_images, _table_learning, _table_numpy, _table_python, _table_scipy
from compatgrad.surroundings._row import Row, resolve

_TABLES = (_table_python, _table_numpy, _table_scipy, _table_images, _table_learning)

# classes whose methods are in the tables -> the modules that define them
_CLASSES = {
    "threading.Thread": "threading",
    "html.parser.HTMLParser": "html.parser",
    "unittest.TestCase": "unittest",
    "configparser.RawConfigParser": "configparser",
    "PIL.Image.Image": "PIL.Image",
    "PIL.ImageDraw.ImageDraw": "PIL.ImageDraw",
    "PIL.ImageFont.FreeTypeFont": "PIL.ImageFont",
    "PIL.ImageFont.ImageFont": "PIL.ImageFont",
    "PIL.ImageFont.TransposedFont": "PIL.ImageFont",
    "matplotlib.axes._base._AxesBase": "matplotlib.axes._base",
    "matplotlib.backend_bases.FigureCanvasBase": "matplotlib.backend_bases",
    "matplotlib.backends.backend_agg.FigureCanvasAgg": "matplotlib.backends.backend_agg",
    "pandas.DataFrame": "pandas",
    "pandas.Series": "pandas",
    "h5py._hl.dataset.Dataset": "h5py._hl.dataset",
}

# a change of functions that everything calls: only a program whose year is named gets it
_RAGGED = Row("numpy", "numpy.array(ragged)", "1.24", 2022, "numpy.array(..., dtype=object)", "._numpy.old_array")

# only for those who ask for it
_LOAD = Row(
    "numpy", "numpy.load(allow_pickle)", "1.16.3", 2019, "numpy.load(..., allow_pickle=True)", "._numpy.old_load"
)

# function -> the name that an argument had, and the one that it has
_KEYWORDS = [
    (
        "numpy",
        Row("numpy", f"numpy.{name}({old})", "2.4", 2025, f"numpy.{name}({new}=...)", "._numpy.old_keyword"),
    )
    for name, old, new in [
        ("reshape", "newshape", "shape"),
        *((name, "interpolation", "method") for name in "percentile quantile nanpercentile nanquantile".split()),
    ]
]

_MEMORY = Row("joblib", "joblib.Memory(cachedir)", "1.2", 2022, "joblib.Memory(location=...)", "._others.old_memory")

# Things that exist and were called in another way: the module that changes, and the function that changes it.
_CHANGES = [
    (
        "matplotlib.axes",
        Row(
            "matplotlib", "matplotlib.axes.Axes.hist(normed)", "3.1", 2019, "hist(density=...)", "._matplotlib.old_hist"
        ),
    ),
    (
        "matplotlib.figure",
        Row(
            "matplotlib",
            "matplotlib.figure.Figure.gca(projection)",
            "3.7",
            2023,
            "add_subplot(projection=...)",
            "._matplotlib.old_gca",
        ),
    ),
    *_KEYWORDS,
    (
        "mxnet.ndarray.ndarray",
        Row("numpy", "numpy.ndarray.__float__(1 element)", "2.4", 2025, "a.item()", "._one_element.old_asnumpy"),
    ),
    ("joblib.memory", _MEMORY),
    ("yaml", Row("yaml", "yaml.load", "6.0", 2021, "yaml.safe_load", "._others.old_load")),
    ("numpy", _RAGGED),
]


def names() -> Iterator[tuple[str, Row]]:
    """The module of each name, and its row."""
    for table in _TABLES:
        for row in table.NAMES:
            owner = row.name.rpartition(".")[0]
            yield _CLASSES.get(owner, owner), row


def arguments() -> Iterator[Row]:
    yield from (row for _, row in _KEYWORDS)
    yield _MEMORY


def gone() -> Iterator[Row]:
    for table in _TABLES:
        yield from table.GONE


def in_force(
    year: int | str, allow_pickle: bool = False
) -> tuple[list[tuple[str, Row]], list[Row], list[tuple[str, Any]]]:
    """What a program of that year is given, or what any program is ("auto"), or none ("off")."""

    def existed(row: Row) -> bool:
        if isinstance(year, str):
            return year == "auto" and row is not _RAGGED
        return row.year >= year or not row.removed

    def change(row: Row) -> Callable[[ModuleType], Callable[[], None]]:
        return lambda module: resolve(row.value)(module, row)

    return (
        [(module, row) for module, row in names() if existed(row)],
        [row for row in gone() if existed(row)],
        [(module, change(row)) for module, row in _CHANGES if existed(row)] + [("numpy", change(_LOAD))] * allow_pickle,
    )
