"""Horovod for MXNet, over `torch.distributed`: `import horovod.mxnet as hvd`.

Programs are started by `python -m compatgrad launch -n 4 train.py`, horovodrun, mpirun or torchrun.
"""

from typing import Any

__version__ = "0.28.1"


def __getattr__(name: str) -> Any:
    if name == "run":
        raise AttributeError("horovod.run is not part of compatgrad: start it by `python -m compatgrad launch -n N`")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
