import compatgrad.chainer.functions as F
from compatgrad.chainer import link
from compatgrad.chainer.backends import cuda


class Parameter(link.Link):
    """A link that only holds the parameter W and returns it."""

    def __init__(self, array):
        super().__init__()
        self.add_param("W", array.shape, dtype=array.dtype)
        self.W.array = array
        if isinstance(array, cuda.ndarray):
            self.to_gpu(cuda.get_device_from_array(array))

    def forward(self, volatile="off"):
        """A Variable computed from W by the identity."""
        return F.identity(F.identity(self.W))  # two functions, as in the original
