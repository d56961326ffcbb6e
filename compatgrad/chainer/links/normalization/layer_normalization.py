import compatgrad.chainer.functions as F
from compatgrad.chainer import link, utils, variable


class LayerNormalization(link.Link):
    """Layer normalisation of (batch, size) (https://arxiv.org/abs/1607.06450); the first input may tell
    `size`."""

    def __init__(self, size=None, eps=1e-6, initial_gamma=None, initial_beta=None):
        super().__init__()
        with self.init_scope():
            self.gamma = variable.Parameter(1 if initial_gamma is None else initial_gamma)
            self.beta = variable.Parameter(0 if initial_beta is None else initial_beta)
            self.eps = eps
        if size is not None:
            self._initialize_params(size)

    def _initialize_params(self, size):
        self.gamma.initialize(size)
        self.beta.initialize(size)

    def forward(self, x):
        """Normalises each row of `x`."""
        if self.gamma.tensor is None:
            self._initialize_params(utils.size_of_shape(x.shape[1:]))
        return F.layer_normalization(x, self.gamma, self.beta, self.eps)
