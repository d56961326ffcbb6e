"""Places where tests run kernels, and memory for them."""

import ctypes
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from compatgrad import _C
from compatgrad._build.target import source_root

_root = source_root()
assert _root is not None
CSRC = _root / "csrc"
HERE = Path(__file__).parent
FORMS, LOOPS = HERE / "forms.cu", HERE / "loops"
# "address" or "cuda" while `python -m tests.kernels.sanitize` runs the tests: operands end where their memory ends.
SANITIZER = os.environ.get("COMPATGRAD_SANITIZER", "")
BORDER = 0 if SANITIZER else 64


@dataclass(frozen=True)
class Place:
    """Runs kernels by name; `library` is the launcher's, where it is simulated."""

    name: str
    device: str
    library: str | None = None

    def __call__(self, kernel: str, operands: Sequence, numbers: Sequence[float] = (), integers: Sequence[int] = ()):
        _C.run_kernel(kernel, operands, numbers, integers, library=self.library)

    def tensor(self, values: torch.Tensor, offset: int = 0) -> torch.Tensor:
        """The values `offset` elements behind a 16-byte boundary, between elements that `unharmed` looks at."""
        begin = BORDER + offset
        shape = (begin + values.numel() + (BORDER and BORDER - offset),)
        buffer = torch.full(shape, 77.0, dtype=values.dtype, device=self.device)
        part = buffer[begin : begin + values.numel()].view(values.shape)
        assert buffer.data_ptr() % 16 == 0
        return part.copy_(values)

    def poisoned(self, shape, dtype: torch.dtype, offset: int = 0) -> torch.Tensor:
        """Memory of which every element must be written."""
        return self.tensor(torch.full(shape, float("nan"), dtype=dtype), offset)


def unharmed(t: torch.Tensor) -> bool:
    """Whether what lies around a tensor of `Place.tensor` is what it was."""
    buffer = torch.as_strided(t, (t.untyped_storage().nbytes() // t.element_size(),), (1,), 0)
    begin = t.storage_offset()
    return bool((buffer[:begin] == 77).all() and (buffer[begin + t.numel() :] == 77).all())


# ---- the C interface of a library of kernels ------------------------------------------------------------------------


class Entry(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("launch", ctypes.c_void_p)]


class Library(ctypes.Structure):
    _fields_ = [
        ("abi", ctypes.c_int32),
        ("count", ctypes.c_int32),
        ("entries", ctypes.POINTER(Entry)),
        ("error_text", ctypes.c_void_p),
        ("probe", ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)),
    ]


def opened(path) -> Library:
    """What csrc/kernels/call.h names so."""
    get = ctypes.CDLL(str(path)).compatgrad_kernels
    get.restype = ctypes.POINTER(Library)
    return get().contents


def names(library: Library) -> list[str]:
    return sorted(library.entries[i].name.decode() for i in range(library.count))
