"""Names that libraries have removed since a program was written, given back to the program.

`activate` makes a program find `np.float`, `collections.Iterable`, `scipy.misc.imread` and the others of the tables.
Only the program finds them: libraries that are installed beside it see each other as they are. `deactivate` undoes it,
and `used` says what the program was given.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType

from compatgrad.surroundings import _uses
from compatgrad.surroundings._row import Row
from compatgrad.surroundings._uses import Use, used

__all__ = [
    "Row",
    "Use",
    "activate",
    "active",
    "advice",
    "deactivate",
    "parse",
    "remember",
    "table",
    "unpickles",
    "used",
    "without_own_frames",
]

_FIRST_YEAR = 2012
# the year, whether np.load unpickles, and the patches
_active: list[tuple[int | str, bool, object]] = []


def advice(error: BaseException) -> str | None:
    """What to do about an error that stopped an old program, in a sentence with the program's line; None if the error
    is not a sign of its age."""
    from compatgrad.surroundings._advice import advice

    return advice(error)


def without_own_frames(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback without the frames in which names were looked up."""
    if not _active:
        return traceback
    from compatgrad.surroundings._hooks import without_own_frames

    return without_own_frames(traceback)


def remember(file: str, source: str | bytes) -> None:
    """Takes note of the source of a program that is in no file, such as `<stdin>`."""
    if _active:
        from compatgrad.surroundings._questions import sources

        sources[file] = source


def parse(as_of: int | str) -> int | str:
    """The year, "auto" or "off" that `as_of` means; ValueError if it means nothing."""
    if as_of in ("auto", "off"):
        return as_of
    text = str(as_of)
    if not (text.isascii() and text.isdigit() and len(text) == 4 and int(text) >= _FIRST_YEAR):
        raise ValueError(f"as_of: expected a year from {_FIRST_YEAR}, 'auto' or 'off', got {as_of!r}")
    return int(text)


def table() -> Iterator[Row]:
    """All names: first attributes, then arguments, as `numpy.reshape(newshape)`, then modules."""
    from compatgrad.surroundings import _tables

    yield from (row for _, row in _tables.names())
    yield from _tables.arguments()
    yield from _tables.gone()


def active() -> int | str:
    """The year of the surroundings, "auto", or "off"."""
    return _active[-1][0] if _active else "off"


def unpickles() -> bool:
    """Whether the program's `np.load` unpickles without being told to."""
    return bool(_active) and _active[-1][1]


def activate(
    as_of: int | str = "auto",
    off: str = "compatgrad.install(as_of='off')",
    quiet: bool = False,
    allow_pickle: bool = False,
) -> None:
    """Gives a program names that existed in the year `as_of`, or whatever it asks for ("auto").

    off: how messages say that this is turned off. quiet: does not tell the first use on stderr. allow_pickle: the
        program's `np.load` unpickles without being told to, as it did before NumPy 1.16.3; a pickle can run any code.
    """
    deactivate()
    year = parse(as_of)
    if year == "off" and not allow_pickle:
        return
    from compatgrad.surroundings import _tables
    from compatgrad.surroundings._hooks import Patches

    patches = Patches(*_tables.in_force(year, allow_pickle))
    _uses.start(off, quiet)
    patches.install()
    _active.append((year, allow_pickle, patches))


def deactivate() -> None:
    """Undoes `activate`. What the program has been given stays with it."""
    while _active:
        _active.pop()[2].uninstall()  # type: ignore[attr-defined]
