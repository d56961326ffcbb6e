"""`mx.np.utils`: MXNet's module of the constants of `mx.np`, from which programs import them."""

from . import NAN as NAN
from . import NINF as NINF
from . import NZERO as NZERO
from . import PINF as PINF
from . import PZERO as PZERO
from . import NaN as NaN
from . import bool as bool
from . import bool_ as bool_
from . import e as e
from . import float16 as float16
from . import float32 as float32
from . import float64 as float64
from . import inf as inf
from . import int8 as int8
from . import int32 as int32
from . import int64 as int64
from . import nan as nan
from . import newaxis as newaxis
from . import pi as pi
from . import uint8 as uint8

_STR_2_DTYPE_ = {
    "float16": float16, "float32": float32, "float64": float64, "float": float64, "uint8": uint8, "int8": int8,
    "int32": int32, "int64": int64, "int": int64, "bool": bool, "bool_": bool_, "None": None,
}  # fmt: skip
