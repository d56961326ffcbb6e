"""Advice for errors of an old program whose cause cannot be given back: methods of compiled types, defaults that were
unsafe, and conversions that libraries refuse now."""

from __future__ import annotations

import os
import re
import shutil
import traceback
from typing import Any

from compatgrad.surroundings._callers import place, program_frame

# type -> method -> (removed in, what to write)
_METHODS = {
    "numpy.ndarray": {
        "tostring": ("NumPy 2.3", "a.tobytes()"),
        "itemset": ("NumPy 2.0", "a[index] = value"),
        "newbyteorder": ("NumPy 2.0", "a.view(a.dtype.newbyteorder())"),
        "ptp": ("NumPy 2.0", "numpy.ptp(a)"),
    },
    "array.array": {
        "tostring": ("Python 3.9", "a.tobytes()"),
        "fromstring": ("Python 3.9", "a.frombytes(data)"),
    },
    "xml.etree.ElementTree.Element": {
        "getchildren": ("Python 3.9", "list(element)"),
        "getiterator": ("Python 3.9", "element.iter()"),
    },
    "builtins.dict": {
        "iteritems": ("Python 3", "items()"),
        "iterkeys": ("Python 3", "keys()"),
        "itervalues": ("Python 3", "values()"),
        "has_key": ("Python 3", "key in d"),
    },
}

# modules that are gone -> (removed in, what has them or does their work)
_MODULES = {
    "asynchat": ("Python 3.12", "the package pyasynchat"),
    "asyncore": ("Python 3.12", "the package pyasyncore"),
    "audioop": ("Python 3.13", "the package audioop-lts"),
    "cgi": ("Python 3.13", "the package legacy-cgi"),
    "crypt": ("Python 3.13", "the package legacycrypt"),
    "telnetlib": ("Python 3.13", "the package telnetlib-313-and-up"),
    "matplotlib.finance": ("Matplotlib 2.2", "the package mpl-finance"),
    "numpy.distutils": ("NumPy 2.3 and Python 3.12", "setuptools"),
    "pandas.io.data": ("pandas 0.19", "the package pandas-datareader"),
}

# a pattern of the error's text -> the advice
_TEXTS: list[tuple[type[BaseException], str, str]] = [
    (
        ValueError,
        r"Object arrays cannot be loaded when allow_pickle=False",
        "since NumPy 1.16.3 np.load does not unpickle unless it is told to, because a pickle can run any code; if you "
        "trust the file, write np.load(..., allow_pickle=True), or give compatgrad's run the option --allow-pickle",
    ),
    (
        ValueError,
        r"setting an array element with a sequence.*inhomogeneous",
        "since NumPy 1.24 an array of lists of different lengths must be asked for: np.array(..., dtype=object); "
        "the option --as-of 2022 of compatgrad's run accepts them, too",
    ),
    (
        ValueError,
        r"Unable to avoid copy while creating an array",
        "since NumPy 2.0 copy=False forbids a copy; copy=None (np.asarray) copies only if needed, as copy=False did",
    ),
    (
        TypeError,
        r"only 0-dimensional arrays can be converted to Python scalars",
        "since NumPy 2.4 an array with axes is no number, even if it has one element (loss.asnumpy() in '%f', float() "
        "or math.log()): write a.item(), or install 'numpy<2.4', with which such a program runs as it is",
    ),
    (
        OverflowError,
        r"Python integer .* out of bounds for u?int",
        "since NumPy 2.0 an integer that does not fit the dtype is an error, where it wrapped around: "
        "np.array(value).astype(dtype) still does",
    ),
    (
        UnicodeDecodeError,
        r"'ascii' codec can't decode byte",
        "a pickle that Python 2 wrote is read by pickle.load(file, encoding='latin1'), or encoding='bytes' for the "
        "text as bytes",
    ),
    (
        TypeError,
        r"histogram\w*\(\) got an unexpected keyword argument 'normed'",
        "NumPy 1.24 removed normed=; density= does the same for bins of one width",
    ),
    (
        TypeError,
        r"JSONDecoder.*unexpected keyword argument 'encoding'",
        "Python 3.9 removed encoding= of json.load; text is Unicode already: leave it out",
    ),
    (
        shutil.SameFileError,
        r"are the same file",
        "since Python 3.9 the __file__ of a program is an absolute path, and os.path.join(folder, __file__) is the "
        "same; the option --as-of 2020 of compatgrad's run makes it what the command line says",
    ),
    (
        OSError,
        r"'seaborn(-\w+)*' is not a valid package style",
        "since matplotlib 3.6 these styles begin with seaborn-v0_8, such as plt.style.use('seaborn-v0_8-whitegrid')",
    ),
    (
        TypeError,
        r"object of type '(map|filter|zip)' has no len|'(map|filter|zip|dict_(keys|values|items))' object (is not "
        r"subscriptable|does not support)|'range' object does not support item|operand type\(s\) for \+: '(range|map|"
        r"filter|zip|dict_(keys|values|items))'",
        "in Python 2 map, filter, zip, range and the keys, values and items of a dict were lists: write list(...) "
        "around the call",
    ),
    (
        TypeError,
        r"'float' object cannot be interpreted as an integer|expected a sequence of integers or a single integer, got",
        "since NumPy 1.12 and Python 3.10 sizes and indices must be integers: int(...), or // for a division",
    ),
]


def _type_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _method(error: AttributeError) -> str:
    owner: Any = getattr(error, "obj", None)
    for kind in type(owner).__mro__:
        known = _METHODS.get(_type_name(kind), {}).get(str(getattr(error, "name", "")))
        if known:
            removed, instead = known
            title = _type_name(kind).removeprefix("builtins.")
            why = "" if title == "dict" else ", and compatgrad cannot add it to a compiled type"
            return f"{title}.{error.name} was removed in {removed}{why}; write {instead}"
    return ""


def _module(error: ModuleNotFoundError, name: str) -> str:
    if name in _MODULES:
        removed, instead = _MODULES[name]
        return f"{name} was removed in {removed}; {instead} has its contents"
    if name == "cupy":
        return (
            "the program itself imports CuPy, which computes on GPUs only; where there is one, "
            "pip install cupy-cuda12x or cupy-cuda13x"
        )
    file = _file(error)
    folder = os.path.dirname(file)
    beside = os.path.join(folder, name.partition(".")[0])
    if file and (os.path.isfile(f"{beside}.py") or os.path.isdir(beside)):
        where = f"PYTHONPATH={folder or '.'}"
        return f"Python 2 looked for {name} beside the file that imports it; with {where} Python 3 finds it"
    return ""


def _file(error: BaseException) -> str:
    """The program's file in which the error was raised."""
    file = ""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if program_frame(frame) is frame:
            file = frame.f_code.co_filename
    return file


def advice(error: BaseException) -> str | None:
    """See `compatgrad.surroundings.advice`."""
    text = ""
    if isinstance(error, AttributeError):
        text = _method(error)
    elif isinstance(error, ModuleNotFoundError) and error.name:
        text = _module(error, error.name)
    elif isinstance(error, SyntaxError) and "Did you mean print(" in str(error):
        name = os.path.basename(error.filename or "the program")
        return f"{name} is written in Python 2's syntax; convert the program first, with a tool such as 2to3 or fissix"
    if not text:
        message = str(error)
        for kind, pattern, found in _TEXTS:
            if isinstance(error, kind) and re.search(pattern, message, re.DOTALL):
                text = found
                break
    return f"{text}{_where(error)}" if text else None


def _where(error: BaseException) -> str:
    at = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        if program_frame(frame) is frame:
            at = f" ({place(frame).rpartition(':')[0]}:{line})"
    return at
