"""ChainerMN's view of NCCL: absent, as in the original without CuPy."""

_available = False
