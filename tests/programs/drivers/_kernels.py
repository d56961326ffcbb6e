"""CuPy's elementwise kernels on a CPU, with their source compiled as C++ inside a loop."""

import ctypes
import hashlib
import pathlib
import subprocess
import tempfile

import numpy as np

HEAD = """#include <algorithm>
#include <cmath>
template <class A, class B> double max(A a, B b) { return a < b ? b : a; }
template <class A, class B> double min(A a, B b) { return b < a ? b : a; }
template <class A, class B> A atomicAdd(A* p, B b) { A old = *p; *p += b; return old; }
using std::ceil; using std::floor; using std::sqrt; using std::abs;
"""
TYPES = {"f": "float", "d": "double", "i": "int", "l": "long"}


def elementwise(inputs, outputs, body, name):
    """`chainer.cuda.elementwise` for NumPy arrays; it runs once per element of the arrays that are not `raw`."""
    parameters = [p.split() for p in f"{inputs},{outputs}".split(",") if p.strip()]

    def run(*arrays):
        kind = next((a.dtype for p, a in zip(parameters, arrays, strict=True) if p[-2] == "T"), np.dtype("f"))
        base = TYPES[kind.char]
        given, each, size = [], [], 1
        arrays = [np.asarray(a) if hasattr(a, "dtype") else np.array(a, kind) for a in arrays]
        for n, ((*raw, _, variable), a) in enumerate(zip(parameters, arrays, strict=True)):
            assert a.flags.c_contiguous
            c = TYPES[a.dtype.char]
            if raw:
                given.append(f"{c}* {variable} = ({c}*)given[{n}];")
            else:
                each.append(f"{c}& {variable} = (({c}*)given[{n}])[{'i' if a.ndim else 0}];")
                size = max(size, a.size)
        text = f'{HEAD}typedef {base} T;\nextern "C" void run(void** given, long size) {{ {" ".join(given)}\n'
        text += f"for (long i = 0; i < size; i++) {{ {' '.join(each)}\n{body}\n}} }}"
        pointers = (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
        compiled(text).run(pointers, ctypes.c_long(size))

    return run


LIBRARIES = {}


def compiled(text):
    """Compile a source text, once, and return the library."""
    if text not in LIBRARIES:
        folder = pathlib.Path(tempfile.mkdtemp())
        path = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.so"
        subprocess.run(
            ["c++", "-O1", "-w", "-ffp-contract=off", "-shared", "-fPIC", "-x", "c++", "-", "-o", str(path)],
            input=text,
            text=True,
            check=True,
        )
        LIBRARIES[text] = ctypes.CDLL(str(path))
    return LIBRARIES[text]
