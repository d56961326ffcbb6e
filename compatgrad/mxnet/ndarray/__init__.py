"""Arrays and the operators on them: `mxnet.nd`."""

from compatgrad._C import Op as _Op
from compatgrad.core.entering import open_functions as _open_functions
from compatgrad.core.entering import opened as _opened

from .._frontend import fe as _fe
from .._home import lend as _lend
from . import _elementwise as _elementwise
from ._creation import *
from ._elementwise import *
from ._operator import operators as operators
from ._random_density import *
from ._random_operators import *
from ._sparse_arrays import cast_storage as cast_storage
from ._sparse_arrays import retain as sparse_retain  # noqa: F401
from .ndarray import NDArray as NDArray
from .ndarray import _DTYPE_MX_TO_NP as _DTYPE_MX_TO_NP
from .ndarray import _DTYPE_NP_TO_MX as _DTYPE_NP_TO_MX
from .ndarray import _GRAD_REQ_MAP as _GRAD_REQ_MAP
from .ndarray import waitall as waitall
from ._cached_op import CachedOp as CachedOp
from . import random as random
from . import sparse as sparse
from .sparse import CSRNDArray as CSRNDArray
from .sparse import RowSparseNDArray as RowSparseNDArray
from .utils import array as array
from .utils import load as load
from .utils import load_frombuffer as load_frombuffer
from .utils import save as save
from . import _internal as _internal
from . import linalg as linalg
from .arrays import *
from .indexing import *
from .linalg import *
from .order import *
from .reduce import *
from .sequence import *
from .shape import *
from .nn_convolution import *
from .nn_correlation import *
from .nn_image import *
from .nn_layers import *
from .nn_loss import *
from .nn_norm import *
from .nn_rnn import *
from .optimizer_op import *
from ._multi_updates import *
from . import _contrib_updates as _contrib_updates
from . import image as image
from . import contrib as contrib
from . import ndarray as ndarray
from . import op as op
from . import _methods as _methods


# functions that `operator` made check and convert their arrays themselves
_closed = {f for f in operators.values() if getattr(f, "__code__", _lend.__code__).co_filename.startswith("<operator ")}
for _function in set(operators.values()) - _closed:
    if not isinstance(_function, _Op):
        _opened(_fe, _function)
del _function  # a second name of one operator, by which tools would know it
for _names in (globals(), vars(contrib), vars(image), vars(linalg), vars(random), vars(sparse)):
    _open_functions(_fe, _names, _closed)
_lend(globals(), ndarray, op)


def __getattr__(name: str):
    """`F.np` and `F.npx` of hybrid_forward: mxnet.np and mxnet.npx."""
    if name in ("np", "numpy"):
        from .. import numpy

        return numpy
    if name in ("npx", "numpy_extension"):
        from .. import numpy_extension

        return numpy_extension
    from compatgrad.names.absent import no_attribute

    raise no_attribute(__name__, name)
