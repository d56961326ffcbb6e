"""Names that SciPy removed."""

from __future__ import annotations

from compatgrad.surroundings._row import Row, renamed, rows

# functions of scipy.misc for images, on Pillow
_IMAGES = "bytescale fromimage imfilter imread imresize imrotate imsave imshow toimage"
_NOW = {
    "bytescale": "NumPy's arithmetic",
    "fromimage": "numpy.asarray",
    "imread": "imageio.imread, PIL.Image.open",
    "imresize": "PIL.Image.Image.resize",
    "imrotate": "PIL.Image.Image.rotate",
    "imsave": "imageio.imwrite, PIL.Image.Image.save",
    "imshow": "matplotlib.pyplot.imshow",
    "imfilter": "PIL.Image.Image.filter",
    "toimage": "PIL.Image.fromarray",
}

_WINDOWS = """
barthann bartlett blackman blackmanharris bohman boxcar chebwin cosine exponential flattop gaussian general_gaussian
hamming hann kaiser nuttall parzen triang tukey
"""

# of the names that `scipy` had from NumPy, those that programs use
_NUMPY_NAMES = """
absolute all angle any append arange argmax argmin argsort array asarray average bincount ceil clip complex64 complex128
concatenate conj convolve corrcoef cos cosh cov cross cumprod cumsum deg2rad diag diff dot dstack e empty exp eye
fabs flatnonzero fliplr flipud float32 float64 floor genfromtxt histogram hstack hypot identity imag inf inner
insert int16 int32 int64 int8 interp isfinite isinf isnan kron linspace load loadtxt logical_and logical_not
logical_or logspace matrix maximum mean median meshgrid minimum mod nan nan_to_num nanmax nanmean nanmin nansum
ndarray newaxis nonzero ones ones_like outer percentile pi poly1d polyfit polyval prod r_ c_ rad2deg ravel real repeat
reshape roll roots save savetxt savez shape sign sin sinc sinh size sort split squeeze stack std sum swapaxes tan
tanh tensordot tile trace transpose tri tril triu uint8 unique unwrap vander var vdot vectorize vstack where zeros
zeros_like
"""
_SCIMATH = "arccos arcsin arctanh log log10 log2 logn power sqrt"


def _scipy(removed: str, year: int, owner: str, names: dict[str, str | tuple[str, str]]) -> list[Row]:
    return rows("scipy", removed, year, owner, names)


NAMES = [
    *_scipy(
        "0.18",
        2016,
        "scipy.stats",
        {
            "nanmean": "numpy.nanmean",
            "nanmedian": "numpy.nanmedian",
            "nanstd": ("._scipy.nanstd", "numpy.nanstd(x, ddof=1)"),
        },
    ),
    *_scipy(
        "1.0",
        2017,
        "scipy.stats",
        {
            "betai": "scipy.special.betainc",
            "chisqprob": ("scipy.special.chdtrc", "scipy.stats.chi2.sf"),
            "signaltonoise": ("._scipy.signaltonoise", "a.mean() / a.std()"),
            "square_of_sums": ("._scipy.square_of_sums", "a.sum() ** 2"),
            "ss": ("._scipy.ss", "(a * a).sum()"),
            "threshold": ("._scipy.threshold", "numpy.where"),
        },
    ),
    *_scipy("1.2", 2018, "scipy.ndimage", {"imread": ("._images.imread", _NOW["imread"])}),
    *_scipy("1.3", 2019, "scipy.misc", {name: (f"._images.{name}", _NOW[name]) for name in _IMAGES.split()}),
    *renamed("scipy", "1.3", 2019, "scipy.misc", "scipy.special", "comb factorial factorial2 factorialk logsumexp"),
    *_scipy(
        "1.3",
        2019,
        "scipy.misc",
        {
            "info": "numpy.info",
            "pade": "scipy.interpolate.pade",
            "source": ("._numpy.source", "inspect.getsource"),
            "who": ("._numpy.who", "dir"),
        },
    ),
    *_scipy("1.3", 2019, "scipy.signal", {"hanning": "scipy.signal.windows.hann"}),
    *_scipy("1.9", 2022, "scipy", {"random": "numpy.random"}),
    *_scipy("1.9", 2022, "scipy.linalg", {"pinv2": "scipy.linalg.pinv"}),
    *_scipy("1.9", 2022, "scipy.stats", {"itemfreq": ("._scipy.itemfreq", "numpy.unique(a, return_counts=True)")}),
    *_scipy(
        "1.9",
        2022,
        "scipy.stats",
        {"median_absolute_deviation": ("._scipy.median_absolute_deviation", "scipy.stats.median_abs_deviation")},
    ),
    *renamed("scipy", "1.12", 2024, "scipy", "numpy", _NUMPY_NAMES),
    *renamed("scipy", "1.12", 2024, "scipy", "numpy.lib.scimath", _SCIMATH),
    *renamed("scipy", "1.12", 2024, "scipy", "numpy.random", "rand randn"),
    *_scipy(
        "1.12",
        2024,
        "scipy",
        {"ifft": "numpy.fft.ifft", "in1d": ("._numpy.in1d", "numpy.isin"), "trapz": "scipy.integrate.trapezoid"},
    ),
    *_scipy("1.12", 2024, "scipy.stats", {"binom_test": ("._scipy.binom_test", "scipy.stats.binomtest(...).pvalue")}),
    *renamed("scipy", "1.13", 2024, "scipy.linalg", "numpy", "tri tril triu"),
    *renamed("scipy", "1.13", 2024, "scipy.signal", "scipy.signal.windows", _WINDOWS),
    *_scipy(
        "1.14",
        2024,
        "scipy.integrate",
        {
            "cumtrapz": ("._scipy.cumtrapz", "scipy.integrate.cumulative_trapezoid"),
            "simps": ("._scipy.simps", "scipy.integrate.simpson"),
            "trapz": ("._scipy.trapz", "scipy.integrate.trapezoid"),
        },
    ),
    *renamed("scipy", "1.15", 2025, "scipy.misc", "scipy.datasets", "ascent electrocardiogram face"),
    *_scipy(
        "1.15",
        2025,
        "scipy.misc",
        {
            "central_diff_weights": ("._scipy.central_diff_weights", "findiff, jacobi"),
            "derivative": ("._scipy.derivative", "scipy.differentiate.derivative"),
        },
    ),
    *_scipy("1.15", 2025, "scipy.signal", {"ricker": ("._scipy.ricker", "PyWavelets")}),
    *_scipy("1.15", 2025, "scipy.special", {"btdtr": "scipy.special.betainc", "btdtri": "scipy.special.betaincinv"}),
    *_scipy("1.17", 2026, "scipy.linalg", {"kron": "numpy.kron"}),
    *_scipy("1.17", 2026, "scipy.special", {"sph_harm": ("._scipy.sph_harm", "scipy.special.sph_harm_y")}),
]

GONE = [
    *_scipy("1.3", 2019, "", {"scipy.misc.pilutil": ("._images", "imageio, PIL")}),
    *_scipy("2.0", 2026, "", {"scipy.misc": ("._empty", "the functions' new places")}),
]
