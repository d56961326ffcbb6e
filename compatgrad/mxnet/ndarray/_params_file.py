"""`.params` files, with MXNet's errors."""

from __future__ import annotations

from collections.abc import Sequence

from compatgrad.formats import params

from ..base import MXNetError

__all__ = ["read_params", "write_params"]


def read_params(source: str | bytes, name: str | None = None) -> tuple[list[params.Stored], list[str]]:
    """The arrays and names of a file, or of a buffer of bytes; MXNetError tells what is wrong and where."""
    try:
        return params.read(source, name)
    except params.ParamsError as e:
        raise MXNetError(str(e)) from None
    except OSError as e:
        raise MXNetError(f'load: cannot open "{source!s}": {e.strerror or e}') from None


def write_params(path: str, arrays: Sequence[params.Stored], names: Sequence[str]) -> None:
    """Writes a file that the original reads; MXNetError where the path cannot be written."""
    try:
        params.write(path, arrays, names)
    except OSError as e:
        raise MXNetError(f'save: cannot write "{path}": {e.strerror or e}') from None
