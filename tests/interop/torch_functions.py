"""torch functions and modules of every kind used in networks, with inputs away from kinks and ties."""

import numpy as np
import torch
import torch.nn.functional as F

from tests.ops.harness import Floats as A

P = {"low": 0.2, "high": 1.0}
IDS = np.array([[2, 0, 1], [1, 1, 0]])
ORDER = np.array([[2, 0, 1], [1, 2, 0]])
MASK = np.array([[True, False, True], [False, True, True]])


def positive_definite(x):
    return x @ x.mT + torch.eye(x.shape[-1], dtype=x.dtype)


def parts(z):
    return z.real, z.imag


def attention(q, k, v):
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):  # fused kernels have no second derivative
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def in_place(x):
    y = x * 2
    y[:, 0] += x[:, 1]
    y.mul_(x).sigmoid_()
    return y


class Cube(torch.autograd.Function):
    """A user-defined function with its own derivative."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, gy):
        (x,) = ctx.saved_tensors
        return gy * 3 * x**2


ELEMENTWISE = [
    *((name, getattr(torch, name), A(2, 3)) for name in (
        "abs asinh atan ceil cos cosh deg2rad erf erfc exp exp2 expm1 floor neg round sgn sigmoid sign sin sinc sinh "
        "square tan tanh trunc frac positive").split()),
    *((name, getattr(torch, name), A(2, 3, **P)) for name in (
        "acos asin atanh digamma erfinv lgamma log log10 log1p log2 logit reciprocal rsqrt sqrt").split()),
    *((name, getattr(F, name), A(2, 3)) for name in (
        "celu elu gelu hardswish hardtanh leaky_relu logsigmoid mish relu relu6 selu silu softplus softsign "
        "tanhshrink softshrink hardshrink").split()),
    ("acosh", torch.acosh, A(2, 3, low=1.2, high=3)),
    ("nan_to_num", torch.nan_to_num, A(2, 3)),
    ("clamp", lambda x: x.clamp(-0.5, 0.5), A(2, 3)),
    ("clamp by tensors", torch.clamp, A(2, 3), A(3, low=-1, high=0), A(2, 1, low=0, high=1)),
    ("threshold", lambda x: F.threshold(x, 0.1, 20), A(2, 3)),
    ("prelu", F.prelu, A(2, 3), A(3)),
    ("glu", F.glu, A(2, 4)),
    ("polygamma", lambda x: torch.polygamma(2, x), A(3, **P)),
    ("add", lambda x, y: torch.add(x, y, alpha=3), A(2, 3), A(3)),
    ("sub", torch.sub, A(2, 1), A(3)),
    ("mul", torch.mul, A(2, 3), A()),
    ("div", torch.div, A(2, 3), A(2, 1, **P)),
    ("pow", torch.pow, A(2, 3, **P), A(3)),
    ("power of a number", lambda x: 2.5**x + x**3, A(2, 3)),
    ("atan2", torch.atan2, A(2, 3), A(3, **P)),
    ("hypot", torch.hypot, A(2, 3), A(3)),
    ("fmod", torch.fmod, A(2, 3), A(2, 3, low=2, high=3)),
    ("remainder", torch.remainder, A(2, 3), A(2, 3, low=2, high=3)),
    ("maximum", torch.maximum, A(2, 3), A(2, 3)),
    ("minimum", torch.minimum, A(2, 3), A(2, 3)),
    ("logaddexp", torch.logaddexp, A(2, 3), A(2, 3)),
    ("xlogy", torch.xlogy, A(2, 3), A(2, 3, **P)),
    ("lerp", torch.lerp, A(2, 3), A(2, 3), A(3)),
    ("addcmul", torch.addcmul, A(2, 3), A(2, 3), A(3)),
    ("addcdiv", torch.addcdiv, A(2, 3), A(2, 3), A(3, **P)),
    ("where", lambda x, y: torch.where(torch.from_numpy(MASK), x, y), A(2, 3), A(3)),
    ("where by a Variable", torch.where, MASK, A(2, 3), A(2, 3)),
    ("dropout in eval", lambda x: F.dropout(x, 0.5, training=False), A(2, 3)),
    ("alpha dropout in eval", lambda x: F.alpha_dropout(x, 0.5, training=False), A(2, 3)),
    ("in place", in_place, A(2, 3)),
    ("user's function", Cube.apply, A(2, 3)),
    ("checkpoint", lambda x: torch.utils.checkpoint.checkpoint(lambda t: t.tanh() * t, x, use_reentrant=False), A(3)),
]  # fmt: skip

PRODUCTS = [
    ("matmul", torch.matmul, A(2, 2, 3), A(3, 2)),
    ("matrix by vector", torch.mv, A(2, 3), A(3)),
    ("dot", torch.dot, A(3), A(3)),
    ("outer", torch.outer, A(2), A(3)),
    ("bmm", torch.bmm, A(2, 2, 3), A(2, 3, 1)),
    ("addmm", torch.addmm, A(2), A(3, 2), A(2, 2)),
    ("baddbmm", torch.baddbmm, A(2, 2, 2), A(2, 2, 3), A(2, 3, 2)),
    ("linear", F.linear, A(2, 3), A(4, 3), A(4)),
    ("bilinear", F.bilinear, A(2, 2), A(2, 3), A(4, 2, 3), A(4)),
    ("einsum", lambda x, y, z: torch.einsum("ij,jk,k->i", x, y, z), A(2, 3), A(3, 4), A(4)),
    ("tensordot", lambda x, y: torch.tensordot(x, y, 2), A(2, 3, 2), A(3, 2, 4)),
    ("kron", lambda x, y: torch.kron(x.contiguous(), y.contiguous()), A(2, 2), A(1, 3)),
    ("cross", torch.linalg.cross, A(2, 3), A(2, 3)),
    ("chain_matmul", lambda *xs: torch.linalg.multi_dot(xs), A(2, 3), A(3, 2), A(2, 4)),
    ("attention", attention, A(1, 2, 3, 2), A(1, 2, 3, 2), A(1, 2, 3, 2)),
]

WINDOWS = [
    ("conv1d", lambda x, w, b: F.conv1d(x, w, b, 2, 1), A(2, 2, 5), A(3, 2, 3), A(3)),
    ("conv2d", lambda x, w: F.conv2d(x, w, dilation=2, groups=2), A(1, 2, 5, 5), A(4, 1, 2, 2)),
    ("conv3d", lambda x, w, b: F.conv3d(x, w, b, padding="same"), A(1, 1, 3, 2, 2), A(2, 1, 3, 1, 1), A(2)),
    ("conv_transpose1d", lambda x, w: F.conv_transpose1d(x, w, stride=2, output_padding=1), A(1, 2, 3), A(2, 3, 2)),
    ("conv_transpose2d", lambda x, w, b: F.conv_transpose2d(x, w, b, 2, 1), A(1, 2, 3, 3), A(2, 2, 3, 3), A(2)),
    ("conv_transpose3d", F.conv_transpose3d, A(1, 2, 2, 2, 2), A(2, 1, 2, 2, 1)),
    ("unfold", lambda x: F.unfold(x, 2), A(1, 2, 3, 3)),
    ("fold", lambda x: F.fold(x, (3, 3), 2), A(1, 8, 4)),
    ("avg_pool1d", lambda x: F.avg_pool1d(x, 2, 1, 1), A(1, 2, 4)),
    ("avg_pool2d", lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), A(1, 2, 5, 5)),
    ("avg_pool3d", lambda x: F.avg_pool3d(x, 2), A(1, 1, 2, 4, 2)),
    ("max_pool1d", lambda x: F.max_pool1d(x, 2, 2, 1), A(1, 2, 5)),
    ("max_pool2d", lambda x: F.max_pool2d(x, 2, 2, ceil_mode=True), A(1, 2, 5, 5)),
    ("max_pool2d with indices", lambda x: F.max_pool2d(x, 2, return_indices=True), A(1, 2, 4, 4)),
    ("max_pool3d", lambda x: F.max_pool3d(x, 2), A(1, 1, 2, 4, 2)),
    ("max_unpool2d", lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2), A(1, 1, 4, 4)),
    ("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, (2, 3)), A(1, 2, 5, 4)),
    ("adaptive_max_pool2d", lambda x: F.adaptive_max_pool2d(x, 2), A(1, 2, 5, 4)),
    ("lp_pool1d", lambda x: F.lp_pool1d(x, 3.0, 2), A(1, 2, 4, **P)),
    ("interpolate nearest", lambda x: F.interpolate(x, scale_factor=2), A(1, 2, 3)),
    ("interpolate linear", lambda x: F.interpolate(x, 5, mode="linear", align_corners=True), A(1, 2, 3)),
    ("interpolate bilinear", lambda x: F.interpolate(x, (5, 4), mode="bilinear", antialias=True), A(1, 1, 3, 3)),
    ("interpolate bicubic", lambda x: F.interpolate(x, (5, 4), mode="bicubic"), A(1, 1, 3, 3)),
    ("interpolate trilinear", lambda x: F.interpolate(x, (3, 2, 4), mode="trilinear"), A(1, 1, 2, 3, 2)),
    ("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), A(1, 4, 2, 2)),
    ("pad constant", lambda x: F.pad(x, (1, 2, -1, 0)), A(2, 3)),
    ("pad reflect", lambda x: F.pad(x, (1, 2, 2, 1), "reflect"), A(1, 3, 4)),
    ("pad replicate", lambda x: F.pad(x, (1, 2), "replicate"), A(1, 3, 4)),
    ("pad circular", lambda x: F.pad(x, (1, 2), "circular"), A(1, 3, 4)),
    ("affine_grid", lambda t: F.affine_grid(t, (1, 1, 3, 2), align_corners=False), A(1, 2, 3)),
]

NORMS_AND_LOSSES = [
    ("batch_norm", lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), A(4, 3), A(3), A(3)),
    (
        "batch_norm in eval",
        lambda x, m, v, w, b: F.batch_norm(x, m, v, w, b),
        A(4, 3),
        np.zeros(3),
        np.ones(3),
        A(3),
        A(3),
    ),
    ("layer_norm", lambda x, w, b: F.layer_norm(x, (3,), w, b), A(2, 3), A(3), A(3)),
    ("rms_norm", lambda x, w: F.rms_norm(x, (3,), w), A(2, 3), A(3)),
    ("group_norm", lambda x, w, b: F.group_norm(x, 2, w, b), A(2, 4, 3), A(4), A(4)),
    ("instance_norm", F.instance_norm, A(2, 2, 4)),
    ("local_response_norm", lambda x: F.local_response_norm(x, 2), A(1, 4, 3)),
    ("normalize", F.normalize, A(2, 3)),
    ("cosine_similarity", F.cosine_similarity, A(2, 3), A(2, 3)),
    ("pairwise_distance", F.pairwise_distance, A(2, 3), A(2, 3)),
    ("weight norm", lambda v, g: v * (g / v.norm(dim=1, keepdim=True)), A(2, 3), A(2, 1)),
    ("softmax", lambda x: F.softmax(x, 0), A(2, 3)),
    ("log_softmax", lambda x: F.log_softmax(x, -1), A(2, 3)),
    ("logsumexp", lambda x: torch.logsumexp(x, 1), A(2, 3)),
    ("gumbel softmax of no noise", lambda x: F.softmin(x / 0.5, 1), A(2, 3)),
    ("cross_entropy", lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1), A(2, 3), IDS[:, 0]),
    ("cross_entropy of probabilities", F.cross_entropy, A(2, 3), A(2, 3, **P)),
    ("nll_loss", lambda x, t: F.nll_loss(x, t, torch.tensor([1.0, 2, 3], dtype=x.dtype)), A(2, 3), IDS[:, 0]),
    ("binary_cross_entropy", F.binary_cross_entropy, A(2, 3, low=0.2, high=0.8), MASK.astype("d")),
    ("binary_cross_entropy_with_logits", F.binary_cross_entropy_with_logits, A(2, 3), A(2, 3, **P)),
    ("mse_loss", F.mse_loss, A(2, 3), A(2, 3)),
    ("l1_loss", lambda x, y: F.l1_loss(x, y, reduction="none"), A(2, 3), A(2, 3)),
    ("smooth_l1_loss", F.smooth_l1_loss, A(2, 3), A(2, 3)),
    ("huber_loss", lambda x, y: F.huber_loss(x, y, delta=0.5), A(2, 3), A(2, 3)),
    ("kl_div", lambda x, y: F.kl_div(x, y, reduction="batchmean"), A(2, 3), A(2, 3, **P)),
    ("poisson_nll_loss", F.poisson_nll_loss, A(2, 3), A(2, 3, **P)),
    ("gaussian_nll_loss", F.gaussian_nll_loss, A(2, 3), A(2, 3), A(2, 3, **P)),
    ("soft_margin_loss", F.soft_margin_loss, A(2, 3), np.where(MASK, 1.0, -1.0)),
    ("triplet_margin_loss", F.triplet_margin_loss, A(2, 3), A(2, 3), A(2, 3)),
    ("cosine_embedding_loss", F.cosine_embedding_loss, A(2, 3), A(2, 3), np.array([1.0, -1.0])),
    ("margin_ranking_loss", F.margin_ranking_loss, A(2), A(2), np.array([1.0, -1.0])),
]

INDICES = [
    ("slice", lambda x: x[::2, 1:], A(4, 3)),
    ("index", lambda x: x[[0, 2, 2], [1, 1, 0]], A(3, 2)),
    ("index by Variables", lambda x, i: x[i], A(3, 2), IDS),
    ("masked_select", torch.masked_select, A(2, 3), MASK),
    ("masked_fill", lambda x, m, v: x.masked_fill(m, v), A(2, 3), MASK, A()),
    ("gather", lambda x, i: x.gather(1, i), A(2, 3), IDS),
    ("take_along_dim", lambda x, i: x.take_along_dim(i, 1), A(2, 3), IDS),
    ("scatter", lambda x, i, s: x.scatter(1, i, s), A(2, 3), ORDER, A(2, 3)),
    ("scatter_add", lambda x, i, s: x.scatter_add(1, i, s), A(2, 3), IDS, A(2, 3)),
    ("scatter_reduce", lambda x, i, s: x.scatter_reduce(1, i, s, "mean"), A(2, 3), IDS, A(2, 3)),
    ("index_add", lambda x, i, s: x.index_add(0, i[0], s), A(3, 2), IDS, A(3, 2)),
    ("index_select", lambda x, i: x.index_select(0, i[0]), A(3, 2), IDS),
    ("index_put", lambda x, i, v: x.index_put((i[0],), v, accumulate=True), A(3, 2), IDS, A(3, 2)),
    ("embedding", lambda i, w: F.embedding(i, w, padding_idx=3), IDS, A(4, 2)),
    ("diagonal", torch.diagonal, A(3, 3)),
    ("diag_embed", torch.diag_embed, A(2, 3)),
    ("tril", torch.tril, A(3, 3)),
    ("select and unbind", lambda x: (x.select(0, 1), *x.unbind(1)), A(2, 3)),
    ("roll", lambda x: x.roll((1, 2), (0, 1)), A(2, 3)),
    ("as_strided", lambda x: x.contiguous().as_strided((2, 2), (2, 1), 1), A(2, 3)),
]

SHAPES = [
    ("reshape", lambda x: x.reshape(3, 2), A(2, 3)),
    ("permute", lambda x: x.permute(2, 0, 1), A(2, 3, 2)),
    ("transpose", lambda x: x.mT, A(2, 3)),
    ("expand", lambda x: x.expand(2, 3, 2), A(3, 1)),
    ("cat", lambda *xs: torch.cat(xs, 1), A(2, 3), A(2, 1)),
    ("stack", lambda *xs: torch.stack(xs, 1), A(2, 3), A(2, 3)),
    ("split", lambda x: x.split([1, 2], 1), A(2, 3)),
    ("chunk", lambda x: x.chunk(2, 1), A(2, 3)),
    ("flip", lambda x: x.flip(0, 1), A(2, 3)),
    ("repeat", lambda x: x.repeat(2, 1, 2), A(2, 3)),
    ("repeat_interleave", lambda x: x.repeat_interleave(2, 1), A(2, 3)),
    ("squeeze", lambda x: x.unsqueeze(0).squeeze(2), A(2, 1)),
    ("flatten", torch.flatten, A(2, 3, 2)),
    ("movedim", lambda x: x.movedim(0, 2), A(2, 3, 2)),
    ("meshgrid", lambda *xs: torch.meshgrid(*xs, indexing="ij"), A(2), A(3)),
    ("broadcast_tensors", lambda *xs: tuple(torch.broadcast_tensors(*xs)), A(2, 1), A(3)),
    ("input as output", lambda x: (x, x * x), A(2, 3)),
    ("one output twice", lambda x: (x * x,) * 2, A(2, 3)),
    ("views of one memory", lambda x: (lambda y: (y, y[0], y.T))(x * 2), A(2, 3)),
    ("a scalar of nothing", lambda x: x.sum() + 2, A(0, 3)),
    ("nothing", lambda x, y: torch.cat([x, y]).tanh(), A(0, 3), A(0, 3)),
    ("nothing of something", lambda x: x[:0] * 2, A(2, 3)),
    ("scalar", lambda x: x * x.exp(), A()),
]

REDUCTIONS = [
    *((name, getattr(torch, name), A(2, 3)) for name in "sum mean prod std var amax amin max min median norm".split()),
    ("sum of axes", lambda x: x.sum((0, 2), keepdim=True), A(2, 3, 2)),
    ("var_mean", lambda x: torch.var_mean(x, 1, correction=0), A(2, 3)),
    ("max of an axis", lambda x: tuple(x.max(1)), A(2, 3)),
    ("aminmax", lambda x: tuple(x.aminmax(dim=1)), A(2, 3)),
    ("topk", lambda x: tuple(x.topk(2)), A(2, 3)),
    ("sort", lambda x: tuple(x.sort(1, descending=True)), A(2, 3)),
    ("kthvalue", lambda x: tuple(x.kthvalue(2)), A(2, 3)),
    ("quantile", lambda x: x.quantile(0.3, dim=1), A(2, 3)),
    ("argmax beside it", lambda x: (x.argmax(1), x.square()), A(2, 3)),
    ("cumsum", lambda x: x.cumsum(1), A(2, 3)),
    ("cumprod", lambda x: x.cumprod(1), A(2, 3)),
    ("cummax", lambda x: tuple(x.cummax(1)), A(2, 3)),
    ("logcumsumexp", lambda x: x.logcumsumexp(1), A(2, 3)),
    ("diff", torch.diff, A(2, 3)),
    ("trapezoid", torch.trapezoid, A(2, 3)),
    ("vector_norm", lambda x: torch.linalg.vector_norm(x, 3, 1), A(2, 3)),
    ("dist", torch.dist, A(2, 3), A(2, 3)),
    ("cov", torch.cov, A(2, 4)),
    ("trace", torch.trace, A(3, 3)),
]

LINALG = [
    ("inverse", lambda x: torch.linalg.inv(x + 2 * torch.eye(3)), A(2, 3, 3)),
    ("det", lambda x: torch.linalg.det(x + torch.eye(3)), A(2, 3, 3)),
    ("slogdet", lambda x: tuple(torch.linalg.slogdet(x + 2 * torch.eye(3))), A(3, 3)),
    ("cholesky", lambda x: torch.linalg.cholesky(positive_definite(x)), A(3, 3)),
    ("solve", lambda a, b: torch.linalg.solve(a + 2 * torch.eye(3), b), A(3, 3), A(3, 2)),
    (
        "solve_triangular",
        lambda a, b: torch.linalg.solve_triangular(a + 2 * torch.eye(3), b, upper=True),
        A(3, 3),
        A(3, 2),
    ),
    ("qr", lambda x: tuple(torch.linalg.qr(x)), A(3, 2)),
    ("eigh", lambda x: torch.linalg.eigvalsh(positive_definite(x)), A(3, 3)),
    ("svdvals", torch.linalg.svdvals, A(3, 2)),
    ("pinv", torch.linalg.pinv, A(3, 2)),
    ("matrix_exp", torch.linalg.matrix_exp, A(2, 2)),
    ("matrix_power", lambda x: torch.linalg.matrix_power(x, 3), A(2, 2)),
]

COMPLEX = [
    ("fft", lambda x: torch.view_as_real(torch.fft.fft(x)), A(2, 4)),
    ("rfft and back", lambda x, w: torch.fft.irfft(torch.fft.rfft(x) * w, n=4), A(2, 4), A(3)),
    ("fft2", lambda x: parts(torch.fft.fft2(x)), A(2, 3)),
    ("magnitudes", lambda x: torch.fft.rfft(x).abs(), A(2, 3)),
    ("stft", lambda x: torch.view_as_real(torch.stft(x, 4, window=torch.ones(4), return_complex=True)), A(8)),
    ("complex product", lambda x, y: parts(torch.complex(x, y) * torch.complex(y, x).exp()), A(2, 3), A(2, 3)),
    ("polar", lambda r, t: parts(torch.polar(r, t)), A(3, **P), A(3)),
    ("view_as_complex", lambda x: torch.view_as_complex(x.contiguous()).angle(), A(3, 2, **P)),
]

FUNCTIONS = {
    "elementwise": ELEMENTWISE,
    "products": PRODUCTS,
    "windows": WINDOWS,
    "norms and losses": NORMS_AND_LOSSES,
    "indices": INDICES,
    "shapes": SHAPES,
    "reductions": REDUCTIONS,
    "linalg": LINALG,
    "complex": COMPLEX,
}

# functions whose second derivative torch lacks
ONCE = [
    ("cdist", lambda x, y: torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist"), A(2, 3), A(3, 3)),
    ("embedding_bag", lambda i, w: F.embedding_bag(i, w, mode="sum"), IDS, A(4, 2)),
    ("hardsigmoid", F.hardsigmoid, A(2, 3)),
    ("multi_margin_loss", F.multi_margin_loss, A(2, 3), IDS[:, 0]),
]


class Decoder(torch.nn.Module):
    """A decoder layer with itself as the memory, without the fused kernels, which have no second derivatives."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.TransformerDecoderLayer(4, 2, 5, dropout=0.0, batch_first=True)

    def forward(self, x, memory):
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            return self.layer(x, memory)


N = torch.nn
MODULES = [
    ("Linear", lambda: N.Linear(3, 4), A(2, 3)),
    ("Bilinear", lambda: N.Bilinear(3, 2, 4), A(2, 3), A(2, 2)),
    ("Conv2d", lambda: N.Conv2d(2, 4, 3, 2, 1, groups=2, padding_mode="reflect"), A(1, 2, 5, 5)),
    ("ConvTranspose1d", lambda: N.ConvTranspose1d(2, 3, 3, 2, 1), A(1, 2, 4)),
    ("BatchNorm1d", lambda: N.BatchNorm1d(3), A(4, 3)),
    ("BatchNorm2d in eval", lambda: N.BatchNorm2d(2).eval(), A(2, 2, 3, 3)),
    ("GroupNorm", lambda: N.GroupNorm(2, 4), A(2, 4, 3)),
    ("LayerNorm", lambda: N.LayerNorm(3), A(2, 3)),
    ("InstanceNorm1d", lambda: N.InstanceNorm1d(2, affine=True), A(2, 2, 4)),
    ("Embedding", lambda: N.Embedding(4, 3), IDS),
    ("PReLU", lambda: N.PReLU(3), A(2, 3)),
    ("RNN", lambda: N.RNN(2, 3, 2), A(3, 2, 2), A(2, 2, 3)),
    ("LSTM", lambda: N.LSTM(2, 3, bidirectional=True), A(3, 2, 2)),
    ("GRU", lambda: N.GRU(2, 3), A(3, 2, 2), A(1, 2, 3)),
    ("LSTMCell", lambda: N.LSTMCell(2, 3), A(2, 2)),
    ("GRUCell", lambda: N.GRUCell(2, 3), A(2, 2), A(2, 3)),
    ("MultiheadAttention", lambda: N.MultiheadAttention(4, 2), A(3, 2, 4), A(5, 2, 4), A(5, 2, 4)),
    ("TransformerDecoderLayer", Decoder, A(2, 3, 4), A(2, 5, 4)),
    ("parametrized", lambda: N.utils.parametrizations.orthogonal(N.Linear(3, 3)), A(2, 3)),
    ("spectral_norm in eval", lambda: N.utils.parametrizations.spectral_norm(N.Linear(3, 3)).eval(), A(2, 3)),
]
