"""Spectral normalization."""

import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
from compatgrad.chainer import backend
from compatgrad.chainer.configuration import config
from compatgrad.chainer.link_hooks._weight import WeightHook
from compatgrad.chainer.utils import force_array
from compatgrad.chainer.variable import Parameter


def l2normalize(xp, v, eps):
    """Array `v` divided by its norm plus `eps`."""
    return v / (xp.linalg.norm(v) + eps)


def update_approximate_vectors(weight_matrix, u, n_power_iteration, eps):
    """The first left and right singular vectors of a matrix (Variable), by power iteration from the array
    `u`.
    """
    matrix = weight_matrix.array
    xp = backend.get_array_module(matrix)
    for _ in range(n_power_iteration):
        v = l2normalize(xp, xp.dot(u, matrix), eps)
        u = l2normalize(xp, xp.dot(matrix, v), eps)
    return u, v


def calculate_max_singular_value(weight_matrix, u, v):
    """The largest singular value of a matrix (Variable), given its singular vectors."""
    return F.matmul(F.matmul(u, weight_matrix), v)


class SpectralNormalization(WeightHook):
    """Divides a link's weight by its largest singular value, which power iteration approximates, during
    forward.

    `n_power_iteration` is the number of iterations per forward, `eps` what keeps norms from being 0. With
    `use_gamma` the link gets a parameter ``gamma``, initially that singular value, by which the weight is
    multiplied: add the hook before the optimizer is set up. `factor` divides the singular value. The vector
    that the iteration starts from is stored in the link as `vector_name` and serialized. Miyato et al.,
    https://arxiv.org/abs/1802.05957. Raises ValueError for a link without that weight, or with a weight
    without outputs.
    """

    name = "SpectralNormalization"

    def __init__(self, n_power_iteration=1, eps=1e-6, use_gamma=False, factor=None, weight_name="W", name=None):
        assert n_power_iteration > 0, f"n_power_iteration must be at least 1, not {n_power_iteration}"
        super().__init__(weight_name, name)
        self.n_power_iteration = n_power_iteration
        self.eps = eps
        self.use_gamma = use_gamma
        self.factor = factor
        self.vector_name = weight_name + "_u"
        self.axis = 0
        self._initialized = False

    def added(self, link):
        super().added(link)
        if isinstance(link, (L.Deconvolution2D, L.DeconvolutionND)):
            self.axis = 1  # their weights are (in, out, …)
        if getattr(link, self.weight_name).tensor is not None:
            self._prepare_parameters(link)

    def deleted(self, link):
        delattr(link, self.vector_name)
        if self.use_gamma:
            del link.gamma

    def _prepare_parameters(self, link, input_variable=None):
        self._initialize_weight(link, input_variable)
        weight = getattr(link, self.weight_name)
        n_out = weight.shape[self.axis]
        if n_out == 0:
            raise ValueError(f"Expect {self.weight_name}.shape[{self.axis}] > 0")
        u = link.xp.random.normal(size=(n_out,)).astype(dtype=weight.dtype)
        setattr(link, self.vector_name, u)
        link.register_persistent(self.vector_name)
        if self.use_gamma:
            _, s, _ = link.xp.linalg.svd(self.reshape_W(weight.array))
            with link.init_scope():
                link.gamma = Parameter(force_array(s[0]))
        self._initialized = True

    def forward_preprocess(self, cb_args):
        if not self._initialized:
            self._prepare_parameters(cb_args.link, cb_args.args[0])
        super().forward_preprocess(cb_args)

    def _replacement(self, link):
        return self.normalize_weight(link)

    def normalize_weight(self, link):
        """The weight of `link` divided by its largest singular value, as a Variable."""
        weight = getattr(link, self.weight_name)
        u = getattr(link, self.vector_name)
        matrix = self.reshape_W(weight)
        if config.in_recomputing:  # F.forget: the same weight as in the first forward
            v = self.v
        else:
            with link.device.create_context():
                u, v = update_approximate_vectors(matrix, u, self.n_power_iteration, self.eps)
                self.v = v
        sigma = calculate_max_singular_value(matrix, u, v)
        if self.factor is not None:
            sigma /= self.factor
        if config.train and not config.in_recomputing:
            with link.device.create_context():
                backend.copyto(getattr(link, self.vector_name), u)
        return (link.gamma * weight if self.use_gamma else weight) / sigma

    def reshape_W(self, W):
        """`W`, an array or a Variable, as a matrix with one row per output."""
        if self.axis != 0:
            W = W.transpose([self.axis] + [i for i in range(W.ndim) if i != self.axis])
        return W if W.ndim == 2 else W.reshape(W.shape[0], -1)
