"""MXNet 1.9's imperative and Gluon interface on compatgrad's engine."""

from . import ndarray as ndarray
from . import autograd as autograd
from .base import MXNetError as MXNetError
from .context import Context as Context
from .context import cpu as cpu
from .context import cpu_pinned as cpu_pinned
from .context import current_context as current_context
from .context import gpu as gpu
from .context import gpu_memory_info as gpu_memory_info
from .context import num_gpus as num_gpus

nd = ndarray

from . import registry as registry
from . import initializer as initializer
from . import initializer as init
from . import lr_scheduler as lr_scheduler
from . import metric as metric
from . import optimizer as optimizer
from . import log as log

__version__ = "1.9.1"
