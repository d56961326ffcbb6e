"""What rounding allows: by dtype, by the class of the function, and by the errors that came in."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

# (rtol) of torch.testing.assert_close, by dtype
RELATIVE = {"float16": 1e-3, "bfloat16": 1.6e-2, "float32": 1.3e-6, "float64": 1e-7, "complex64": 1.3e-6}
GROWTH = 50.0  # one function may multiply an error by up to this factor
FACTOR = 8.0  # multiplies the table's tolerance for functions that round a few times
NOISE = 3e-6  # relative error of the estimate from statistics

_SUMS = re.compile(
    r"linear|conv|matmul|dot|affine|fullyconnected|sum|mean|norm|softmax|loss|entropy|rnn|lstm|gru|einsum|bilinear|var"
    r"|std|pooling|average|embed|attention|ctc|crf|roi|_ \+ _|_ - _|add|sub|spatial|upsampl|interpolate|resize|lrn"
    r"|regression",
    re.IGNORECASE,
)
_DECOMPOSITIONS = re.compile(
    r"normalizel2|normalize$|l2norm|inv|det|svd|cholesky|qr|eig|solve|lu_|syevd|gelqf|potr|trsm|matrix", re.IGNORECASE
)
_STEPS = re.compile(
    r"accuracy|argm|argsort|topk|top_n|sort|sign|round|floor|ceil|fix|greater|less|equal|lesser|quanti|binary|one_hot"
    r"|hamming|f1|precision|recall|nms|proposal|multibox|unique|hit",
    re.IGNORECASE,
)
_THRESHOLDS = re.compile(
    r"normalize|relu|elu|max|min|clip|abs|hard|hinge|huber|median|l1|smooth|where|mask|sort|top"
    r"|^activation|^pooling",  # MXNet's ReLU and maximum, among others
    re.IGNORECASE,
)
_DIFFERENCES = re.compile(
    r"^_ [-+] |^-?[\d.e]+ - _|^sub_?from|add_?constant|^(_?np\w?_|elemwise_|broadcast_|_)?r?(add|sub|plus|minus)"
    r"(tract)?(2|_?scalar)?\d*$|^r?(add|sub)scalar$|getitem|selectitem|slice|split|separate|gather|take|pick|crop",
    re.IGNORECASE,
)
RANDOM = re.compile(
    r"dropout|gaussian|zoneout|rrelu|rand|noise|bernoulli|uniform|normal$|multinomial|shuffle|simplifiedropconnect|"
    r"dropconnect|sample|gumbel|poisson|gamma$|exponential|randint",
    re.IGNORECASE,
)


def tolerance(dtype: str) -> float:
    """The relative tolerance of a dtype; 0 for integers."""
    return RELATIVE.get(dtype, 1e-7 if dtype.startswith("complex") else 0.0)


def is_adaptive(states: Sequence[str]) -> bool:
    """Whether an optimizer with states of these names divides by the size of each gradient: Adam and its kin have two
    states, RMSprop and AdaGrad one of these names."""
    return len(states) > 1 or not {"ms", "h", "msg", "g"}.isdisjoint(states)


def counts_in_steps(name: str) -> bool:
    """Whether a tiny change of an input can change the result of a function by a whole step."""
    return bool(_STEPS.search(name))


def cancels(name: str) -> bool:
    """Whether the result of a function may be much smaller than its inputs, and has their errors: it adds or subtracts
    them element by element, and they may be nearly equal, or it selects some of their elements."""
    return bool(_DIFFERENCES.search(name))


def has_threshold(name: str) -> bool:
    """Whether the derivative of a function jumps: there a tiny change of an input changes single gradients wholly."""
    return bool(_THRESHOLDS.search(name)) or counts_in_steps(name)


def of_single_elements(count: int) -> float:
    """The relative error that arises if a few of many elements are on the other side of a threshold."""
    return 5 * math.sqrt(3 / max(count, 1))


def growth(name: str, elements_each: float) -> float:
    """The factor by which an error may grow in a function. elements_each: the number of elements over which a
    normalization takes a mean; with few elements the deviation, by which it divides, can be small."""
    return GROWTH * max(1.0, 64.0 / max(elements_each, 1.0)) if "norm" in name.lower() else GROWTH


def factor(name: str, elements_in: int, elements_out: int) -> float:
    """The largest error by a function's own rounding, as a multiple of the dtype's tolerance."""
    if _DECOMPOSITIONS.search(name):
        return 1000.0
    if _SUMS.search(name):
        return 3 * FACTOR * min(math.sqrt(max(elements_in / max(elements_out, 1), 1.0)), 10.0)
    return FACTOR
