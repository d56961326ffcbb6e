"""Uses names that libraries have removed, and writes what they gave as JSON: `python old_libraries.py FONT`.

`old_libraries.json` was written by Python 3.6 with NumPy 1.14.6, SciPy 1.1.0, Pillow 5.4.1, matplotlib 2.2.5,
scikit-learn 0.19.2 and pandas 0.22.0. A test runs this file on the libraries of today.
"""

import json
import sys
import warnings

warnings.simplefilter("ignore")

import collections  # noqa: E402
import fractions  # noqa: E402
import imp  # noqa: E402
import inspect  # noqa: E402
from distutils.util import strtobool  # noqa: E402
from distutils.version import LooseVersion, StrictVersion  # noqa: E402

import matplotlib  # noqa: E402
import numpy as np  # noqa: E402

matplotlib.use("agg")

import scipy  # noqa: E402
import scipy.integrate  # noqa: E402
import scipy.misc  # noqa: E402
import scipy.ndimage  # noqa: E402
import scipy.signal  # noqa: E402
import scipy.stats  # noqa: E402
from matplotlib import mlab  # noqa: E402
from matplotlib import pyplot as plt  # noqa: E402
from PIL import Image, ImageDraw, ImageFont  # noqa: E402
from sklearn import cross_validation  # noqa: E402
from sklearn.metrics import jaccard_similarity_score  # noqa: E402
from sklearn.preprocessing import Imputer  # noqa: E402
from sklearn.utils.linear_assignment_ import linear_assignment  # noqa: E402

RANDOM = np.random.RandomState(0)
GRAY = RANDOM.rand(7, 9)
BYTES = RANDOM.randint(0, 256, (7, 9)).astype(np.uint8)
COLOURS = RANDOM.randint(0, 256, (8, 6, 3)).astype(np.uint8)
FLOATS = RANDOM.rand(3, 8, 6)

found = {}


def note(name, value):
    found[name] = value


def images():
    for interp in ("nearest", "bilinear"):  # Pillow has changed the others
        note("imresize " + interp, scipy.misc.imresize(COLOURS, (5, 11), interp=interp))
    note("imresize gray", scipy.misc.imresize(GRAY, (14, 5)))
    note("imresize bytes", scipy.misc.imresize(BYTES, 0.5))
    note("imresize percent", scipy.misc.imresize(BYTES, 150, "cubic"))
    note("imresize F", scipy.misc.imresize(GRAY, (3, 4), mode="F"))
    note("imresize channels first", scipy.misc.imresize(FLOATS, (4, 4)))
    note("imrotate", scipy.misc.imrotate(BYTES, 30, "nearest"))
    note("bytescale", scipy.misc.bytescale(GRAY, cmin=0.2, cmax=0.7, high=200, low=10))
    note("bytescale constant", scipy.misc.bytescale(np.ones((2, 3))))
    for mode in (None, "L", "P", "F", "I"):
        image = scipy.misc.toimage(GRAY, mode=mode)
        note("toimage " + str(mode), [image.mode, list(image.size), np.asarray(image)])
    image = scipy.misc.toimage(FLOATS, cmin=0, cmax=1)
    note("toimage channels first", [image.mode, list(image.size), np.asarray(image)])
    image = scipy.misc.toimage(COLOURS, mode="YCbCr")
    note("toimage YCbCr", [image.mode, np.asarray(image)])
    note("fromimage flat", scipy.misc.fromimage(Image.fromarray(COLOURS), flatten=True))
    note("fromimage L", scipy.misc.fromimage(Image.fromarray(COLOURS), mode="L"))
    note("fromimage palette", scipy.misc.fromimage(Image.fromarray(COLOURS).quantize(4)).shape)
    note("fromimage 1", scipy.misc.fromimage(Image.fromarray(BYTES).convert("1")))
    note("imfilter", scipy.misc.imfilter(BYTES, "edge_enhance"))
    scipy.misc.imsave("image.png", GRAY)
    note("imread", scipy.misc.imread("image.png"))
    note("ndimage.imread", scipy.ndimage.imread("image.png", flatten=True))
    for name, call in [
        ("complex", lambda: scipy.misc.toimage(GRAY * 1j)),
        ("shape", lambda: scipy.misc.toimage(np.zeros((5, 5, 5)))),
        ("mode", lambda: scipy.misc.toimage(GRAY, mode="RGB")),
        ("channels", lambda: scipy.misc.toimage(COLOURS, mode="CMYK")),
        ("high", lambda: scipy.misc.bytescale(GRAY, high=300)),
        ("filter", lambda: scipy.misc.imfilter(BYTES, "soft")),
    ]:
        try:
            call()
            note("error " + name, None)
        except Exception as error:
            note("error " + name, [type(error).__name__, str(error)])


def numbers():
    y, x = RANDOM.rand(3, 8), np.cumsum(RANDOM.rand(8))
    for even in ("avg", "first", "last"):
        note("simps " + even, scipy.integrate.simps(y, even=even))
        note("simps x " + even, scipy.integrate.simps(y, x, even=even))
    note("simps odd", scipy.integrate.simps(y.T[:7], x[:7], axis=0))
    note("cumtrapz", scipy.integrate.cumtrapz(y, x, initial=0))
    note("trapz", [scipy.integrate.trapz(y, x), np.trapz(y, dx=0.5)])
    note(
        "derivative",
        [scipy.misc.derivative(np.exp, 0.3, 0.1, n, order=o) for n, o in ((1, 3), (2, 5), (3, 7), (1, 11))],
    )
    note("weights", scipy.misc.central_diff_weights(5, 2))
    note("special", [scipy.misc.comb(5, 2), scipy.misc.factorial(5), scipy.misc.logsumexp(y)])
    for name in "gaussian hann hamming blackman bartlett kaiser tukey".split():
        arguments = {"gaussian": (9, 2.0), "kaiser": (9, 3.0)}.get(name, (9,))
        note("window " + name, getattr(scipy.signal, name)(*arguments))
    note("ricker", scipy.signal.ricker(11, 2.0))
    note("itemfreq", scipy.stats.itemfreq([3, 1, 3, 2]))
    note("binom_test", [scipy.stats.binom_test(7, 20, 0.5), scipy.stats.binom_test([3, 9], p=0.4, alternative="less")])
    note("top level", [scipy.interp(0.5, [0, 1], [2, 4]), scipy.sqrt(-1).imag, scipy.array([1]).sum()])
    from scipy.special import sph_harm

    note("sph_harm", [complex(sph_harm(1, 2, 0.3, 0.7)).real, complex(sph_harm(1, 2, 0.3, 0.7)).imag])


def arrays():
    note("types", [np.float(1) / 3, np.int(3.7), np.str(3), np.asscalar(np.float32(0.5)), np.unicode("a")])
    note("products", [np.product([2, 3]), np.cumproduct([2, 3]), np.alltrue([1, 0]), np.sometrue([1, 0])])
    note("in1d", np.in1d([[1, 2], [3, 4]], [2, 4], invert=True))
    note(
        "asfarray",
        [np.asfarray([1, 2]).dtype.name, np.asfarray([1], "f4").dtype.name, np.asfarray([1], "i4").dtype.name],
    )
    note("msort", np.msort([[3, 1], [1, 2]]))
    note("alen", [np.alen([1, 2, 3]), np.alen(7), np.rank([[1]])])
    note("round_", np.round_([1.26], 1))
    note("infinite", [np.Inf > 1, np.NINF < 1, np.isnan(np.NaN).item(), 1 / np.float_(np.PINF)])
    kinds = [["f4"], ["i8", "f8"]], [["i4"], ["c8"]], [[], ["i8", "f4"]], [["f4", "f4"], []], [["i2", "u2"], ["b1"]]
    note("find_common_type", [np.find_common_type(*kind).name for kind in kinds] + [np.find_common_type([], [])])
    note("cast", [np.cast["f4"](3).dtype.name, np.cast[int](2.7).item()])
    note("sctypes", [kind().dtype.itemsize for kind in np.sctypes["float"][:3]])
    note("kinds", [np.issubclass_(int, float), np.issctype(np.int32), np.issctype(3), np.obj2sctype("f4").__name__])
    note(
        "sizes",
        [np.nbytes["f8"], np.maximum_sctype("i2").__name__, np.sctype2char("f4"), np.typeDict["float32"].__name__],
    )
    note("lib", np.lib.pad([1, 2], 1, "constant"))
    note("row_stack", np.row_stack([[1], [2]]))


def drawings():
    note("mlab", [mlab.normpdf(0.3, 0.1, 2.0), mlab.rms_flat(GRAY), mlab.l2norm(GRAY), mlab.entropy(GRAY.ravel(), 4)])
    note("bivariate", mlab.bivariate_normal(GRAY, GRAY + 1, 1.5, 2.0, 0.1, 0.2, 0.3))
    note("frange", [mlab.frange(3), mlab.frange(1, 6.5, npts=5), mlab.frange(3, closed=0), mlab.frange(1, 6, 2)])
    note("movavg", mlab.movavg(GRAY[0], 3))
    note("find", mlab.find(GRAY > 0.8))
    note("center", [mlab.center_matrix(GRAY), mlab.center_matrix(GRAY, 1)])
    note("prctile", [mlab.prctile(GRAY), mlab.prctile(GRAY, 30.0)])
    counts, _, _ = plt.hist(GRAY.ravel(), 5, normed=True)
    note("hist", counts)
    plt.gca().hold(True)
    plt.hold(True)
    note("cmap", matplotlib.cm.get_cmap("hsv")(0.3))
    figure = plt.figure(figsize=(1, 1), dpi=10)
    figure.canvas.draw()
    note("rgb", len(figure.canvas.tostring_rgb()))
    note("projection", figure.gca(projection="polar").name)
    image = Image.new("L", (100, 100))
    note("antialias", np.asarray(Image.fromarray(BYTES).resize((4, 3), Image.ANTIALIAS)))
    note("constants", [Image.LINEAR, Image.CUBIC])
    draw, font = ImageDraw.Draw(image), ImageFont.truetype(sys.argv[1], 20)
    # freetype's versions differ by a pixel or two
    note(
        "text", [draw.textsize("Agq", font), font.getsize("Agq"), draw.textsize("Agq\nx", font), font.getoffset("Agq")]
    )


def learning():
    for name, splits in [
        ("KFold", cross_validation.KFold(7, 3)),
        ("KFold shuffled", cross_validation.KFold(7, n_folds=2, shuffle=True, random_state=1)),
        ("LeaveOneOut", cross_validation.LeaveOneOut(3)),
        ("ShuffleSplit", cross_validation.ShuffleSplit(9, n_iter=2, test_size=0.3, random_state=2)),
        ("LabelKFold", cross_validation.LabelKFold([1, 1, 2, 2, 2, 3], 2)),
    ]:
        note(name, [len(splits), [[sorted(train), sorted(test)] for train, test in splits]])
    folds = cross_validation.StratifiedKFold([0, 0, 0, 1, 1, 1], 3)
    note("StratifiedKFold", [sorted(test) for _, test in folds])
    note("train_test_split", cross_validation.train_test_split(list(range(10)), test_size=0.3, random_state=0))
    table = np.array([[1.0, np.nan], [3, 4], [np.nan, 8]])
    note("Imputer", [Imputer().fit_transform(table), Imputer(strategy="median", axis=1).fit_transform(table[:2])])
    note(
        "jaccard",
        [jaccard_similarity_score([1, 2, 3], [1, 2, 2]), jaccard_similarity_score(np.eye(2), np.ones((2, 2)))],
    )
    note("assignment", linear_assignment(np.array([[4, 1, 3], [2, 0, 5], [3, 2, 2]])))


def tables():
    try:
        import pandas as pd
    except ImportError:
        return
    data = pd.DataFrame({"a": [1, 2, 3], "b": [4.0, 5.0, 6.0]}, index=["x", "y", "z"])
    note(
        "ix", [data.ix["y", "b"], data.ix[0, "a"], list(data.ix[1:, 0]), list(data.ix[["x", "z"]].b), list(data.ix[2])]
    )
    note("ix numbers", list(pd.DataFrame({"a": [1, 2, 3]}, index=[5, 6, 7]).ix[6:].a))
    note("as_matrix", data.as_matrix())
    note("append", data.append(data).as_matrix())
    note("append row", data.append({"a": 7, "b": 8}, ignore_index=True).as_matrix())
    note("iteritems", [name for name, _ in data.iteritems()])
    note("sort", list(data.a.append(data.a).index))
    note("get_value", data.get_value("y", "a"))


def language():
    note("abstract", [isinstance([], collections.Iterable), isinstance({}, collections.MutableMapping)])
    note("gcd", [fractions.gcd(12, 18), fractions.gcd(-4, 6), fractions.gcd(4, -6)])
    note("argspec", list(inspect.getargspec(lambda a, b=1, *c, **d: 0)))
    note("format", inspect.formatargspec(*inspect.getargspec(lambda a, b=1, *c, **d: 0)))
    note("bool", [strtobool(word) for word in ("yes", "Off", "1")])
    versions = ["1.0", "1.0.4", "1.10", "1.9b2", "1.9"]
    note("loose", sorted(["1.0.4b", "1.0.4", "1.10", "0.9"], key=LooseVersion))
    note("strict", sorted(versions, key=StrictVersion) + [str(StrictVersion("1.2.0"))])
    note("imp", imp.new_module("a").__name__)


def plain(value):
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value


if __name__ == "__main__":
    for part in (images, numbers, arrays, drawings, learning, tables, language):
        part()
    print(json.dumps({name: plain(value) for name, value in sorted(found.items())}))
