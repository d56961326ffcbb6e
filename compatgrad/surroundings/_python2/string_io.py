"""`StringIO` and `cStringIO`: files in memory, of text or of bytes."""

from __future__ import annotations

import io
from typing import Any


def StringIO(buffer: Any = "") -> Any:
    return io.BytesIO(buffer) if isinstance(buffer, (bytes, bytearray, memoryview)) else io.StringIO(buffer)
