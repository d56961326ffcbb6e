"""What names that libraries have removed do."""

import importlib
import json
import pickle
import sys
import textwrap
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

from compatgrad import surroundings
from compatgrad.surroundings import _row, _tables
from tests.tools.old_programs import HERE, ROOT, python, run


def same(got, wanted, tolerance):
    if isinstance(wanted, list):
        return isinstance(got, list) and len(got) == len(wanted) and all(map(same, got, wanted, [tolerance] * len(got)))
    if isinstance(wanted, float):
        return got == pytest.approx(wanted, rel=1e-6, abs=max(tolerance, 1e-9), nan_ok=True)
    return got == wanted or (tolerance > 0 and isinstance(wanted, int) and abs(got - wanted) <= tolerance)


def test_old_names_give_what_they_gave(tmp_path):
    """old_libraries.json was recorded with the libraries that had the names."""
    pytest.importorskip("sklearn")
    import matplotlib

    font = Path(matplotlib.get_data_path()) / "fonts/ttf/DejaVuSans.ttf"
    done = python("-W", "ignore", "-m", "compatgrad", "run", HERE / "old_libraries.py", font, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    got = json.loads(done.stdout)
    wanted = json.loads((HERE / "old_libraries.json").read_text())
    assert len(got) > 80 and set(got) <= set(wanted)
    # Pillow and FreeType have changed how they round
    rounded = {"fromimage L": 1, "imresize bilinear": 2, "text": 1}
    wrong = [name for name in got if not same(got[name], wanted[name], rounded.get(name, 0))]
    assert not wrong, [(name, got[name], wanted[name]) for name in wrong]


@pytest.mark.parametrize("interp", ["nearest", "bilinear", "bicubic", "lanczos"])
def test_imresize_is_pillows_resize_of_the_scaled_bytes(old, interp):
    from PIL import Image
    from scipy.misc import imresize

    image = np.random.RandomState(0).rand(9, 7) * 300 - 20
    low, high = image.min(), image.max()
    scaled = ((image - low) * (255.0 / (high - low)) + 0.5).astype(np.uint8)
    wanted = Image.fromarray(scaled).resize((5, 4), getattr(Image.Resampling, interp.upper()))
    assert np.array_equal(imresize(image, (4, 5), interp), np.asarray(wanted))


@pytest.fixture(scope="module")
def bare():
    """Without old names."""
    before = surroundings.active()
    surroundings.activate("off")
    yield
    surroundings.activate(before, quiet=True)


def found(module, row):
    try:
        value = importlib.import_module(module)
        for part in row.name.removeprefix(f"{module}.").split("."):
            value = getattr(value, part)
    except AttributeError:
        return False
    return True


def test_the_tables_say_which_names_are_absent_and_every_value_exists(bare):
    """What a table calls absent in an installed version is absent, and the rest is there."""
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module, row in _tables.names():
            if importlib.util.find_spec(module.partition(".")[0]) is None:  # `cgi` is gone from Python 3.13
                continue
            importlib.import_module(module)
            if found(module, row) == _row.is_absent(row):
                wrong.append(row)
            elif _row.is_absent(row):
                _row.resolve(row.value)
        for row in _tables.gone():
            if row.library in (
                "six",
                "pkg_resources",
            ):  # may be installed beside this Python, or be a part of setuptools
                continue
            if row.library != "python" and importlib.util.find_spec(row.library) is None:
                continue
            try:
                importlib.import_module(row.name)
                there = True
            except ImportError:
                there = False
            if there == _row.is_absent(row) and row.removed != "3.0":
                wrong.append(row)
            elif _row.is_absent(row):
                if row.value != "tkinter":
                    assert isinstance(_row.resolve(row.value), types.ModuleType)
    assert not wrong


def test_rows_are_sensible():
    rows = list(surroundings.table())
    names = [row.name for row in rows]
    assert len(names) == len(set(names)) > 500
    for row in rows:
        assert row.now and (row.year in range(2012, 2027) or (row.library == "six" and not row.removed)), row


# Modules and libraries that are not installed here


def test_own_modules_of_python_do_what_pythons_did(tmp_path):
    from compatgrad.surroundings import _imghdr, _imp, distutils
    from compatgrad.surroundings.distutils import dir_util, errors, file_util, spawn, util, version

    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "p").mkdir()
    (tmp_path / "p/__init__.py").write_text("y = 2\n")
    file, name, details = _imp.find_module("a", [str(tmp_path)])
    assert details == (".py", "r", _imp.PY_SOURCE) and file.read() == "x = 1\n"
    file.close()
    assert _imp.load_module("old_a", None, name, details).x == 1 and sys.modules.pop("old_a")
    assert _imp.load_module("old_p", *_imp.find_module("p", [str(tmp_path)])).y == 2 and sys.modules.pop("old_p")
    assert _imp.load_module("sys", *_imp.find_module("sys")) is sys
    with pytest.raises(ImportError, match="No module named 'absent'"):
        _imp.find_module("absent", [str(tmp_path)])

    assert [util.strtobool(word) for word in ("YES", "0")] == [1, 0]
    with pytest.raises(ValueError, match="invalid truth value 'maybe'"):
        util.strtobool("maybe")
    assert version.LooseVersion("1.10") > "1.9" and version.StrictVersion("1.0b1") < version.StrictVersion("1.0")
    assert str(version.StrictVersion("1.2.0")) == "1.2"
    with pytest.raises(ValueError, match="invalid version number '1'"):
        version.StrictVersion("1")
    copied = dir_util.copy_tree(str(tmp_path / "p"), str(tmp_path / "q/r"))
    assert copied == [str(tmp_path / "q/r/__init__.py")] and Path(copied[0]).read_text() == "y = 2\n"
    assert file_util.copy_file(copied[0], str(tmp_path), update=True) == (str(tmp_path / "__init__.py"), 1)
    dir_util.remove_tree(str(tmp_path / "q"))
    assert dir_util.mkpath(str(tmp_path / "s/t")) == [str(tmp_path / "s"), str(tmp_path / "s/t")]
    with pytest.raises(errors.DistutilsFileError, match="not a directory"):
        dir_util.copy_tree("absent", str(tmp_path / "s"))
    with pytest.raises(errors.DistutilsExecError, match="exit code 3"):
        spawn.spawn([sys.executable, "-c", "exit(3)"])
    assert Path(spawn.find_executable("sh")).name == "sh"
    with pytest.raises(AttributeError, match="install setuptools"):
        distutils.core  # noqa: B018

    from PIL import Image

    for kind in ("png", "jpeg", "gif", "bmp", "tiff"):
        Image.new("L", (3, 3)).save(tmp_path / "image", kind)
        assert _imghdr.what(tmp_path / "image") == kind
        with open(tmp_path / "image", "rb") as opened:
            assert _imghdr.what(opened) == kind and opened.tell() == 0
    assert _imghdr.what(None, b"P5\n1 1") == "pgm" and _imghdr.what(None, b"nothing") is None


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python has no imp")
def test_own_imp_agrees_with_pythons(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import imp

        from compatgrad.surroundings import _imp
    assert sorted(_imp.get_suffixes()) == sorted(imp.get_suffixes())
    assert (_imp.get_magic(), _imp.get_tag()) == (imp.get_magic(), imp.get_tag())
    assert _imp.find_module("json")[1:] == imp.find_module("json")[1:]
    for name in ("PY_SOURCE", "PY_COMPILED", "C_EXTENSION", "PKG_DIRECTORY", "C_BUILTIN", "PY_FROZEN"):
        assert getattr(_imp, name) == getattr(imp, name)


STUBS = {
    "yaml/__init__.py": """
        __version__ = "6.0.1"
        FullLoader, SafeLoader = "full", "safe"
        def load(stream, Loader):
            return stream, Loader
        """,
    "moviepy/__init__.py": "__version__ = '2.1.0'\nclass VideoClip: pass\n",
    "skimage/__init__.py": "__version__ = '0.25.0'\n",
    "skimage/measure.py": "def marching_cubes(): return 1\n",
    "skimage/metrics.py": "def structural_similarity(): return 2\n",
    "skimage/filters.py": "",
    "librosa/__init__.py": "__version__ = '0.11.0'\n",
    "helper.py": """
        import yaml
        def load():
            return yaml.load("y")
        """,
}


def test_other_libraries(tmp_path):
    for name, text in STUBS.items():
        file = tmp_path / "site-packages" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))
    code = """
        import yaml, helper
        print(yaml.load("x"), yaml.load("x", Loader=yaml.SafeLoader))
        try:
            helper.load()
        except TypeError as error:
            print(error)
        from moviepy.editor import VideoClip
        from skimage.measure import compare_ssim, marching_cubes_lewiner
        import skimage.filter, skimage.measure
        print(compare_ssim(), marching_cubes_lewiner(), skimage.filter is skimage.filters)
        import librosa.output, numpy as np, scipy.io.wavfile
        librosa.output.write_wav("a.wav", np.array([0.0, 0.25, -0.5]), 8000, norm=True)
        rate, sound = scipy.io.wavfile.read("a.wav")
        print(rate, sound)
        """
    done = run(tmp_path, code, env={"PYTHONPATH": f"{ROOT}:{tmp_path / 'site-packages'}"})
    assert done.stdout.splitlines() == [
        "('x', 'full') ('x', 'safe')",
        "load() missing 1 required positional argument: 'Loader'",
        "2 1 True",
        "8000 [ 0.   0.5 -1. ]",
    ], done.stderr


def test_six_where_it_is_not_installed(old, monkeypatch):
    if importlib.util.find_spec("six") is not None:
        pytest.skip("six is installed")
    import six
    import six.moves.urllib.request
    from six.moves import cPickle, reduce, urllib, xrange, zip_longest
    from six.moves.urllib.parse import quote

    assert six.PY3 and not six.PY2 and list(six.iteritems({1: 2})) == [(1, 2)]
    assert (cPickle, xrange, urllib.parse.quote) == (pickle, range, quote)
    assert reduce(max, [1, 3]) == 3 and list(zip_longest([1], [])) == [(1, None)]

    class Meta(type):
        pass

    class A(six.with_metaclass(Meta, dict)):
        pass

    @six.add_metaclass(Meta)
    class B:
        __slots__ = ("x",)

    assert type(A) is type(B) is Meta and A.__mro__[1] is dict
    with pytest.raises(KeyError):
        six.raise_from(KeyError(1), None)


def test_packages_by_pkg_resources(old, tmp_path):
    from compatgrad.surroundings import _pkg_resources as pkg_resources

    assert pkg_resources.get_distribution("numpy").version == np.__version__
    assert pkg_resources.parse_version("1.10") > pkg_resources.parse_version("1.9")
    assert [str(one).partition(" ")[0] for one in pkg_resources.require("numpy>=1.0")] == ["numpy"]
    with pytest.raises(pkg_resources.VersionConflict, match="numpy"):
        pkg_resources.require("numpy<1.0")
    with pytest.raises(pkg_resources.DistributionNotFound):
        pkg_resources.get_distribution("no-such-package")
    assert pkg_resources.resource_exists("numpy", "testing/__init__.py")


def test_tables_of_pandas(old):
    pd = pytest.importorskip("pandas")
    data = pd.DataFrame({"a": [1, 2, 3], "b": [4.0, 5.0, 6.0]}, index=["x", "y", "z"])
    assert (data.ix["y", "b"], data.ix[0, "a"], list(data.ix[1:, 0])) == (5.0, 1, [2, 3])
    assert len(data.append(data)) == 6 and data.as_matrix().shape == (3, 2)


def test_fetch_mldata_says_what_to_use(old):
    pytest.importorskip("sklearn")
    from sklearn.datasets import fetch_mldata

    with pytest.raises(RuntimeError, match=r"mldata.org.*fetch_openml\('mnist_784'"):
        fetch_mldata("MNIST original")


def test_values_of_h5py_datasets(old, tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = np.arange(3)
        assert file["x"].value.tolist() == [0, 1, 2]
        with pytest.raises(AttributeError, match="'Dataset' object has no attribute 'valu'"):
            file["x"].valu  # noqa: B018
