"""Type numbers of elements in nnabla's files."""

import numpy as np

_ORDER = {
    0: (bool,),
    1: (np.int8,),
    2: (np.uint8,),
    3: (np.int16,),
    4: (np.uint16,),
    5: (np.int32,),
    6: (np.uint32,),
    9: (np.longlong, np.int64),
    10: (np.ulonglong, np.uint64),
    11: (np.float32,),
    12: (np.float64,),
    13: (np.longdouble,),
}

#: Numbers by NumPy type. The variable's name is nnabla's.
np_dtpye_to_int = {t: number for number, types in _ORDER.items() for t in types}
int_to_np_dtype = {number: types[-1] for number, types in _ORDER.items()}
