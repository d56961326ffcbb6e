"""The memory of large tensors on the CPU, which is kept for the next ones (csrc/core/memory.h)."""

from compatgrad import _C

__all__ = ["release_memory"]


def release_memory() -> int:
    """Returns memory on the CPU that is not in use, but kept for new tensors, to the system.

    The memory of a freed tensor of 256 KiB to 256 MiB is kept, because a new tensor gets it much faster than memory of
    the system. `docs/guide/performance.md` says how much is kept. The environment variable `COMPATGRAD_KEEP_MEMORY=0`,
    set before compatgrad is imported, keeps nothing.

    Returns:
        The number of bytes.

    Example:
        >>> import compatgrad
        >>> compatgrad.release_memory() >= 0
        True

    Source: `compatgrad/core/kept_memory.py`.
    """
    return _C.release_memory()
