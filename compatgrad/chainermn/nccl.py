"""`chainermn.nccl`, which is empty, as in ChainerMN without CuPy."""

_available = False
