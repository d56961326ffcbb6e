"""Names that NumPy removed."""

from __future__ import annotations

from compatgrad.surroundings._row import renamed, rows

# numpy.lib.X for the numpy.X of today
_LIB_NAMES = """
angle append apply_along_axis array_split average bartlett bincount blackman column_stack copy corrcoef cov delete diag
diff digitize dsplit dstack ediff1d expand_dims extract eye flip fliplr flipud genfromtxt gradient hamming hanning
histogram hsplit insert interp intersect1d isin kaiser kron load loadtxt meshgrid median nan_to_num nanmax
nanmean nanmin nansum ndindex pad percentile piecewise place poly1d polyfit polyval rot90 save savetxt savez
savez_compressed select setdiff1d sinc split tile tri tril trim_zeros triu union1d unique unwrap vander vectorize vsplit
"""

# modules of numpy.lib that are private now
_LIB_MODULES = """
arraypad arraysetops function_base histograms index_tricks nanfunctions polynomial shape_base twodim_base
type_check ufunclike utils
"""

_ERRORS = "AxisError ComplexWarning ModuleDeprecationWarning RankWarning TooHardError VisibleDeprecationWarning"

NAMES = [
    *rows("numpy", "1.18", 2019, "numpy", {"rank": "numpy.ndim"}),
    *rows(
        "numpy",
        "1.22",
        2021,
        "numpy",
        {
            "loads": "pickle.loads",
            "mafromtxt": ("._numpy.mafromtxt", "numpy.genfromtxt(..., usemask=True)"),
            "ndfromtxt": ("numpy.genfromtxt", "numpy.genfromtxt"),
        },
    ),
    *rows(
        "numpy",
        "1.23",
        2022,
        "numpy",
        {"alen": ("._numpy.alen", "len"), "asscalar": ("._numpy.asscalar", "a.item()")},
    ),
    *rows(
        "numpy",
        "1.24",
        2022,
        "numpy",
        {
            "float": "builtins.float",
            "int": "builtins.int",
            "object": "builtins.object",
            "complex": "builtins.complex",
            "str": "builtins.str",
            "unicode": ("builtins.str", "str"),
        },
    ),
    # 2.0 has other objects of these names
    *rows("numpy", "1.24", 2022, "numpy", {"bool": "builtins.bool", "long": ("builtins.int", "int")}, until="2.0"),
    *rows(
        "numpy",
        "2.0",
        2024,
        "numpy",
        {
            "Inf": "numpy.inf",
            "Infinity": "numpy.inf",
            "infty": "numpy.inf",
            "PINF": "numpy.inf",
            "NINF": ("._numpy.NINF", "-numpy.inf"),
            "NaN": "numpy.nan",
            "PZERO": ("._numpy.PZERO", "0.0"),
            "NZERO": ("._numpy.NZERO", "-0.0"),
            "float_": "numpy.float64",
            "cfloat": "numpy.complex128",
            "complex_": "numpy.complex128",
            "singlecomplex": "numpy.complex64",
            "longfloat": "numpy.longdouble",
            "clongfloat": "numpy.clongdouble",
            "longcomplex": "numpy.clongdouble",
            "string_": "numpy.bytes_",
            "unicode_": "numpy.str_",
            "bool8": "numpy.bool_",
            "int0": "numpy.intp",
            "uint0": "numpy.uintp",
            "str0": "numpy.str_",
            "bytes0": "numpy.bytes_",
            "object0": "numpy.object_",
            "void0": "numpy.void",
            "alltrue": "numpy.all",
            "sometrue": "numpy.any",
            "product": "numpy.prod",
            "cumproduct": "numpy.cumprod",
            "round_": "numpy.round",
            "mat": "numpy.asmatrix",
            "asfarray": ("._numpy.asfarray", "numpy.asarray(a, dtype=float)"),
            "msort": ("._numpy.msort", "numpy.sort(a, axis=0)"),
            "find_common_type": ("._numpy.find_common_type", "numpy.result_type"),
            "cast": ("._numpy.cast", "numpy.asarray(a, dtype=...)"),
            "source": ("._numpy.source", "inspect.getsource"),
            "who": ("._numpy.who", "dir"),
            "sctypes": ("._numpy.sctypes", "the types themselves, such as numpy.float32"),
            "nbytes": ("._numpy.nbytes", "numpy.dtype(t).itemsize"),
            "issubclass_": ("._numpy.issubclass_", "issubclass"),
            "issubsctype": "numpy.issubdtype",
            "issctype": ("._numpy.issctype", "issubclass(t, numpy.generic)"),
            "obj2sctype": ("._numpy.obj2sctype", "numpy.dtype(t).type"),
            "sctype2char": ("._numpy.sctype2char", "numpy.dtype(t).char"),
            "maximum_sctype": ("._numpy.maximum_sctype", "numpy.longdouble and its like"),
            "safe_eval": "ast.literal_eval",
            "byte_bounds": "numpy.lib.array_utils.byte_bounds",
            "compare_chararrays": "numpy.char.compare_chararrays",
            "disp": ("._numpy.disp", "print"),
            "recfromcsv": ("._numpy.recfromcsv", "numpy.genfromtxt(..., delimiter=',')"),
            "recfromtxt": ("._numpy.recfromtxt", "numpy.genfromtxt"),
            "DataSource": "numpy.lib.npyio.DataSource",
            "format_parser": "numpy.rec.format_parser",
            "deprecate": ("._numpy.deprecate", "warnings.warn"),
            "fastCopyAndTranspose": ("._numpy.fastCopyAndTranspose", "a.T.copy()"),
        },
    ),
    *rows("numpy", "1.26", 2023, "numpy", {"typeDict": "numpy.sctypeDict"}),
    *renamed("numpy", "2.0", 2024, "numpy", "numpy.exceptions", _ERRORS),
    *renamed("numpy", "2.0", 2024, "numpy.lib", "numpy", _LIB_NAMES),
    *rows("numpy", "2.4", 2025, "numpy", {"in1d": ("._numpy.in1d", "numpy.isin"), "trapz": "numpy.trapezoid"}),
    *rows("numpy", "2.5", 2026, "numpy", {"row_stack": "numpy.vstack"}),
    *rows("numpy", "1.18", 2019, "numpy.testing", {"rand": "numpy.random.rand"}),
    *rows(
        "numpy",
        "1.25",
        2023,
        "numpy.testing",
        {"dec": ("._testing", "pytest's marks"), "run_module_suite": ("._testing.run_module_suite", "pytest")},
    ),
]

GONE = [
    *rows("numpy", "2.0", 2024, "numpy.lib", {name: f"numpy.lib._{name}_impl" for name in _LIB_MODULES.split()}),
    *rows("numpy", "1.18", 2019, "numpy.testing", {"decorators": ("._testing", "pytest's marks")}),
]
