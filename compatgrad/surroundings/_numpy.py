"""What names that NumPy removed did."""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, TextIO

import numpy as np

from compatgrad.surroundings._callers import calling_frame
from compatgrad.surroundings._row import Row
from compatgrad.surroundings._uses import is_given

NINF = -np.inf
PZERO = 0.0
NZERO = -0.0


def alen(a: Any) -> int:
    try:
        return len(a)
    except TypeError:
        return len(np.array(a, ndmin=1))


def asscalar(a: Any) -> Any:
    return a.item()


def asfarray(a: Any, dtype: Any = np.float64) -> np.ndarray:
    """The array with a dtype of floating-point numbers: float64, if `dtype` is another kind."""
    return np.asarray(a, dtype=dtype if np.issubdtype(dtype, np.inexact) else np.float64)


def msort(a: Any) -> np.ndarray:
    found = np.array(a, subok=True, copy=True)
    found.sort(0)
    return found


def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None) -> np.ndarray:
    return np.isin(np.asarray(ar1).ravel(), ar2, assume_unique=assume_unique, invert=invert, kind=kind)


def fastCopyAndTranspose(a: Any) -> np.ndarray:
    return np.asarray(a).T.copy()


def find_common_type(array_types: Any, scalar_types: Any) -> np.dtype | None:
    """The dtype of the arrays, unless scalars of a higher kind demand theirs."""

    def joint(types: Any) -> np.dtype | None:
        types = [np.dtype(one) for one in types]
        return functools.reduce(np.promote_types, types) if types else None

    arrays, scalars = joint(array_types), joint(scalar_types)
    if arrays is None or scalars is None:
        return arrays if scalars is None else scalars
    kinds = "buifcSUVOMm"
    return np.promote_types(scalars, arrays) if kinds.index(scalars.kind) > kinds.index(arrays.kind) else arrays


class _Cast(dict):  # type: ignore[type-arg]
    def __missing__(self, key: Any) -> Callable[[Any], np.ndarray]:
        kind = np.dtype(key)
        return lambda a: np.asarray(a).astype(kind)

    __getitem__ = __missing__


class _ItemSizes(dict):  # type: ignore[type-arg]
    def __missing__(self, key: Any) -> int:
        return np.dtype(key).itemsize


cast = _Cast()
nbytes = _ItemSizes()

sctypes = {
    "int": [np.int8, np.int16, np.int32, np.int64],
    "uint": [np.uint8, np.uint16, np.uint32, np.uint64],
    "float": [np.float16, np.float32, np.float64, np.longdouble],
    "complex": [np.complex64, np.complex128, np.clongdouble],
    "others": [bool, object, bytes, str, np.void],
}


def source(object: Any, output: TextIO | None = None) -> None:
    try:
        text = f"In file: {inspect.getsourcefile(object)}\n\n{inspect.getsource(object)}"
    except (TypeError, OSError):
        text = "Not available for this object."
    print(text, file=output or sys.stdout)


def who(vardict: Mapping[str, Any] | None = None) -> None:
    """Prints the arrays among the caller's variables."""
    if vardict is None:
        frame = inspect.currentframe()
        assert frame is not None and frame.f_back is not None
        vardict = frame.f_back.f_globals
    for name, value in vardict.items():
        if isinstance(value, np.ndarray):
            print(f"{name:<16}{' x '.join(map(str, value.shape)):<20}{value.nbytes:<16}{value.dtype}")


def issubclass_(arg1: Any, arg2: Any) -> bool:
    try:
        return issubclass(arg1, arg2)
    except TypeError:
        return False


def issctype(rep: Any) -> bool:
    if not isinstance(rep, (type, np.dtype)):
        return False
    try:
        return obj2sctype(rep) not in (None, np.object_)
    except (TypeError, ValueError):
        return False


def obj2sctype(rep: Any, default: Any = None) -> Any:
    if isinstance(rep, type) and issubclass(rep, np.generic):
        return rep
    if isinstance(rep, np.ndarray):
        return rep.dtype.type
    try:
        return np.dtype(rep).type
    except (TypeError, ValueError):
        return default


def sctype2char(sctype: Any) -> str:
    found = obj2sctype(sctype)
    if found is None:
        raise ValueError("unrecognized type")
    return np.dtype(found).char


def maximum_sctype(t: Any) -> Any:
    """The largest type of the same kind."""
    kind = np.dtype(t).kind
    largest = {"i": np.int64, "u": np.uint64, "f": np.longdouble, "c": np.clongdouble}
    return largest.get(kind, np.dtype(t).type)


def disp(mesg: Any, device: TextIO | None = None, linefeed: bool = True) -> None:
    stream = device or sys.stdout
    stream.write(f"{mesg}\n" if linefeed else f"{mesg}")
    stream.flush()


def mafromtxt(fname: Any, **options: Any) -> Any:
    return np.genfromtxt(fname, **{**options, "usemask": True})


def recfromtxt(fname: Any, **options: Any) -> Any:
    masked = options.get("usemask", False)
    found = np.genfromtxt(fname, **{"dtype": None, **options})
    return found.view(np.ma.mrecords.MaskedRecords if masked else np.recarray)


def recfromcsv(fname: Any, **options: Any) -> Any:
    return recfromtxt(fname, **{"case_sensitive": "lower", "names": True, "delimiter": ",", **options})


def deprecate(
    *arguments: Any, old_name: str | None = None, new_name: str | None = None, message: str | None = None
) -> Any:
    """Decorates a function whose calls give a DeprecationWarning."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        name = old_name or function.__name__
        text = f"`{name}` is deprecated" + (f", use `{new_name}` instead!" if new_name else "!")

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            warnings.warn(f"{text}\n{message}" if message else text, DeprecationWarning, stacklevel=2)
            return function(*args, **kwargs)

        return wrapper

    return decorate(arguments[0]) if arguments else decorate


def old_array(module: ModuleType, row: Row) -> Callable[[], None]:
    """Lets the program make arrays of lists of different lengths: they contain the lists as objects."""
    originals = {name: getattr(module, name) for name in ("array", "asarray", "asanyarray")}

    def accepting(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def function(*args: Any, **kwargs: Any) -> Any:
            try:
                return original(*args, **kwargs)
            except ValueError as error:
                wanted = len(args) < 2 and kwargs.get("dtype") is None
                if wanted and "inhomogeneous" in str(error) and is_given(row, calling_frame()):
                    return original(*args, **{**kwargs, "dtype": object})
                raise

        return function

    for name, original in originals.items():
        setattr(module, name, accepting(original))

    def undo() -> None:
        for name, original in originals.items():
            setattr(module, name, original)

    return undo


def old_load(module: ModuleType, row: Row) -> Callable[[], None]:
    """Lets the program load pickled objects without saying so."""
    original = module.load

    @functools.wraps(original)
    def load(*args: Any, **kwargs: Any) -> Any:
        if len(args) < 3 and "allow_pickle" not in kwargs and is_given(row, calling_frame(), asked_for=True):
            kwargs["allow_pickle"] = True
        return original(*args, **kwargs)

    module.load = load  # type: ignore[attr-defined]
    return lambda: setattr(module, "load", original)


def old_keyword(module: ModuleType, row: Row) -> Callable[[], None]:
    """Lets the program call a function with the name that an argument had: `numpy.reshape(newshape)` is such a row, and
    `now` begins with `numpy.reshape(shape=`."""
    path, _, old = row.name.rstrip(")").partition("(")
    name, new = path.rpartition(".")[2], row.now.partition("(")[2].partition("=")[0]
    original = getattr(module, name)

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        if old not in kwargs:
            return original(*args, **kwargs)
        try:
            return original(*args, **kwargs)
        except TypeError as error:  # which NumPy raises for the name before it looks at the values
            if "unexpected keyword" in str(error) and new not in kwargs and is_given(row, calling_frame()):
                kwargs[new] = kwargs.pop(old)
                return original(*args, **kwargs)
            raise

    setattr(module, name, function)
    return lambda: setattr(module, name, original)
