"""Spectral normalization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
from compatgrad.chainer import backend
from compatgrad.chainer.configuration import config
from compatgrad.chainer.link_hooks._weight import WeightHook
from compatgrad.chainer.utils import force_array
from compatgrad.chainer.variable import Parameter

if TYPE_CHECKING:
    from compatgrad.chainer.types import NdArray, Xp
    from compatgrad.chainer.variable import Variable


def l2normalize(xp: Xp, v: NdArray, eps: float) -> NdArray:
    """A vector divided by its Euclidean norm.

    Args:
        xp: array module of `v`.
        v: the vector.
        eps: added to the norm.

    Returns:
        The array v / (norm + eps).

    Raises:
        AttributeError: `xp` is no array module.

    Example:
        >>> from compatgrad.chainer import link_hooks
        >>> link_hooks.spectral_normalization.l2normalize(np, np.array([3.0, 4.0]), 0.0)
        array([0.6, 0.8])

    Source: `chainer.link_hooks.spectral_normalization.l2normalize` of Chainer 7.8.1.
    """
    return v / (xp.linalg.norm(v) + eps)


def update_approximate_vectors(
    weight_matrix: Variable, u: NdArray, n_power_iteration: int, eps: float
) -> tuple[NdArray, NdArray]:
    """Approximates the first left and right singular vectors of a matrix by power iteration.

    Args:
        weight_matrix: the matrix, of shape (m, n).
        u: vector of length m to start from.
        n_power_iteration: number of iterations, at least 1.
        eps: added to norms.

    Returns:
        The left vector of length m and the right one of length n.

    Raises:
        UnboundLocalError: `n_power_iteration` is 0.
        ValueError: `u` has another length.

    Example:
        >>> from compatgrad.chainer import link_hooks
        >>> update = link_hooks.spectral_normalization.update_approximate_vectors
        >>> u, v = update(chainer.Variable(np.diag([3.0, 1.0])), np.array([1.0, 0.0]), 1, 0.0)
        >>> u, v
        (array([1., 0.]), array([1., 0.]))

    Source: `chainer.link_hooks.spectral_normalization.update_approximate_vectors` of Chainer 7.8.1.
    """
    matrix = weight_matrix.array
    xp = backend.get_array_module(matrix)
    for _ in range(n_power_iteration):
        v = l2normalize(xp, xp.dot(u, matrix), eps)
        u = l2normalize(xp, xp.dot(matrix, v), eps)
    return u, v


def calculate_max_singular_value(weight_matrix: Variable, u: NdArray, v: NdArray) -> Variable:
    """The largest singular value of a matrix, given its singular vectors, as a function of the matrix.

    Args:
        weight_matrix: the matrix, of shape (m, n).
        u: the left vector of length m.
        v: the right vector of length n.

    Returns:
        Variable of shape (): u^T W v.

    Raises:
        chainer.utils.type_check.InvalidType: a vector has another length.

    Example:
        >>> from compatgrad.chainer import link_hooks
        >>> value = link_hooks.spectral_normalization.calculate_max_singular_value
        >>> value(chainer.Variable(np.diag([3.0, 1.0])), np.array([1.0, 0.0]), np.array([1.0, 0.0])).array
        array(3.)

    Source: `chainer.link_hooks.spectral_normalization.calculate_max_singular_value` of Chainer 7.8.1.
    """
    return F.matmul(F.matmul(u, weight_matrix), v)


class SpectralNormalization(WeightHook):
    """Divides a weight of a link, while the link runs, by its largest singular value, which power iteration
    approximates. The vector from which the iteration starts is stored in the link, as `W_u`, and serialized.

    Args:
        n_power_iteration: number of iterations in each forward.
        eps: added to norms.
        use_gamma: True adds a parameter `gamma` to the link, by which the weight is multiplied; its initial value is
            the singular value. The hook must be added before the optimizer is set up.
        factor: number by which the singular value is divided; None is 1.
        weight_name: attribute of the weight.
        name: name of the hook; None is "SpectralNormalization".

    Raises:
        AssertionError: `n_power_iteration` is less than 1.
        ValueError: when the hook is added, the link has no such weight, or the weight's axis of outputs has length 0.

    Example:
        >>> from compatgrad.chainer import link_hooks
        >>> hook = link_hooks.SpectralNormalization(n_power_iteration=20)
        >>> link = L.Linear(2, 2, nobias=True, initialW=np.diag([4.0, 2.0])).add_hook(hook)
        >>> link(np.array([[1.0, 1.0]], np.float32)).array.round(3)
        array([[1. , 0.5]], dtype=float32)

    Source: `chainer.link_hooks.SpectralNormalization` of Chainer 7.8.1; T. Miyato et al., "Spectral Normalization for
    Generative Adversarial Networks", https://arxiv.org/abs/1802.05957.
    """

    name = "SpectralNormalization"

    def __init__(
        self,
        n_power_iteration: int = 1,
        eps: float = 1e-6,
        use_gamma: bool = False,
        factor: float | None = None,
        weight_name: str = "W",
        name: str | None = None,
    ) -> None:
        assert n_power_iteration > 0, f"n_power_iteration must be at least 1, not {n_power_iteration}"
        super().__init__(weight_name, name)
        self.n_power_iteration = n_power_iteration
        self.eps = eps
        self.use_gamma = use_gamma
        self.factor = factor
        self.vector_name = weight_name + "_u"
        self.axis = 0
        self._initialized = False

    def added(self, link: Any) -> None:
        """Checks that the link has the weight, and makes the vector."""
        super().added(link)
        if isinstance(link, (L.Deconvolution2D, L.DeconvolutionND)):
            self.axis = 1  # the weights of transposed convolutions are (in, out, …)
        if getattr(link, self.weight_name).tensor is not None:
            self._prepare_parameters(link)

    def deleted(self, link: Any) -> None:
        """Removes the vector, and `gamma`."""
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

    def forward_preprocess(self, cb_args: Any) -> None:
        """Replaces the weight; makes the vector first where the weight had no shape yet."""
        if not self._initialized:
            self._prepare_parameters(cb_args.link, cb_args.args[0])
        super().forward_preprocess(cb_args)

    def _replacement(self, link):
        return self.normalize_weight(link)

    def normalize_weight(self, link: Any) -> Variable:
        """The weight of `link` divided by its largest singular value, as a Variable."""
        weight = getattr(link, self.weight_name)
        u = getattr(link, self.vector_name)
        matrix = self.reshape_W(weight)
        if config.in_recomputing:  # F.forget calls forward again and must get the same weight
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

    def reshape_W(self, W: Any) -> Any:
        """`W`, an array or a Variable, as a matrix with one row per output."""
        if self.axis != 0:
            W = W.transpose([self.axis] + [i for i in range(W.ndim) if i != self.axis])
        return W if W.ndim == 2 else W.reshape(W.shape[0], -1)
