"""Names that libraries have removed: who finds them, when, and what is said."""

import collections
import json
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import time
import types

import numpy as np
import pytest

import compatgrad
from compatgrad import surroundings
from compatgrad.surroundings import _callers, _tables
from tests.tools.old_programs import NEW_NUMPY, ROOT, execute, python, run


def test_the_names_are_found_without_an_import_of_their_module():
    """`compatgrad.surroundings.table()` of docs/tools.md, after `import compatgrad` alone."""
    assert compatgrad.__getattr__("surroundings") is surroundings


# Who finds them

LIBRARY = """
    import sys
    import numpy as np

    def ask():
        found = [hasattr(np, "float")]
        for code in ("np.float", "import cPickle", "from collections import Iterable"):
            try:
                exec(code)
                found.append(True)
            except (AttributeError, ImportError):
                found.append(False)
        return found

    def use():
        return np.float
    """


@pytest.mark.parametrize(
    "place, sees",
    [
        ("lib/python3.11/site-packages/tool/__init__.py", False),
        ("dist-packages/tool.py", False),
        ("site-packages/chainer_tools/utils.py", True),
        ("site-packages/other_tools/utils.py", False),
        ("site-packages/gluoncv/data.py", True),
        ("work/tool.py", True),
    ],
)
def test_libraries_do_not_see_them(old, tmp_path, place, sees):
    for package, requirement in (("chainer_tools", "chainer (>=5)"), ("other_tools", "chainer-like")):
        metadata = tmp_path / f"site-packages/{package}-1.0.dist-info/METADATA"
        metadata.parent.mkdir(parents=True)
        metadata.write_text(f"Name: {package}\nRequires-Dist: numpy\nRequires-Dist: {requirement}\n")
    names = execute(tmp_path, LIBRARY, place)
    if sees:
        assert names["use"]() is float
    else:
        assert names["ask"]() == [False] * 4
        with pytest.raises(AttributeError, match="module 'numpy' has no attribute 'float'"):
            names["use"]()
    assert [use.name for use in old.used()] == (["numpy.float"] if sees else [])


def test_the_standard_library_and_compatgrad_are_libraries():
    for file in (json.__file__, compatgrad.__file__, np.__file__):
        assert _callers._is_library(file), file
    assert not _callers._is_library(__file__)


PROBES = """
    import numpy as np
    try:
        from collections import Iterable
    except ImportError:
        Iterable = None
    try:
        import cPickle
    except ImportError:
        cPickle = None
    try:
        kind = np.float
    except AttributeError:
        kind = None
    try:
        import urllib2
    except:
        urllib2 = None
    a, b = hasattr(np, "float"), getattr(np, "int", None)
    """


def test_a_program_that_asks_gets_todays_answer(old, tmp_path):
    names = execute(tmp_path, PROBES)
    assert [names[name] for name in ("Iterable", "cPickle", "kind", "urllib2", "a", "b")] == [None] * 4 + [False, None]
    assert not old.used()


GIVEN = """
    import numpy as np
    try:
        from collections import Iterable
    except ImportError:
        raise
    try:
        import cPickle
    except ImportError:
        print("install cPickle")
        exit(1)
    try:
        value = np.float("1.5")
    except ValueError:
        value = None
    try:
        value = np.int(value)
    except ImportError:
        pass
    try:
        total = 0
        for item in [1, 2]:
            total += np.int(item) * 2
    except Exception:
        total = None
    try:
        def later():
            return np.object
    except AttributeError:
        pass
    later()
    """


def test_other_handlers_do_not_hide_names(old, tmp_path):
    names = execute(tmp_path, GIVEN)
    assert (names["value"], names["total"]) == (1, 6)
    assert [use.name for use in old.used()] == [
        "collections.Iterable", "cPickle", "numpy.float", "numpy.int", "numpy.int", "numpy.object",
    ]  # fmt: skip


def test_pickles_name_old_classes_and_modules(old, tmp_path):
    pytest.importorskip("sklearn")
    execute(
        tmp_path,
        """
        import pickle, sys
        import numpy as np
        import sklearn.svm

        assert pickle.loads(b"cnumpy\\nfloat\\n.") is float
        assert pickle.loads(b"csklearn.svm.classes\\nSVC\\n.") is sklearn.svm.SVC
        class Loader(pickle._Unpickler):
            pass
        import io
        assert Loader(io.BytesIO(b"cnumpy\\nint\\n.")).load() is int
        """,
    )
    class_of_numpy = np.empty(1, object)
    class_of_numpy[0] = Reference()
    np.save(tmp_path / "objects.npy", class_of_numpy)
    assert np.load(tmp_path / "objects.npy", allow_pickle=True)[0] is object


class Reference:
    """Pickled as the name `numpy.object`."""

    def __reduce__(self):
        return getattr, (np, "object")


def test_modules_below_one_that_is_gone_are_the_same_modules(old):
    pytest.importorskip("sklearn")
    import joblib.numpy_pickle
    import sklearn.externals.joblib.numpy_pickle
    from sklearn.externals.six.moves import xrange

    assert sklearn.externals.joblib is joblib and xrange is range
    assert sklearn.externals.joblib.numpy_pickle is joblib.numpy_pickle
    assert joblib.numpy_pickle.__spec__.name == joblib.numpy_pickle.__name__ == "joblib.numpy_pickle"
    with pytest.raises(ModuleNotFoundError, match="No module named 'sklearn.externals.joblib.absent'"):
        import sklearn.externals.joblib.absent
    surroundings.deactivate()
    assert not [name for name in sys.modules if name.startswith("sklearn.externals.joblib")]


def test_pickles_of_python_2(old):
    import cPickle

    data = b"S'\\xe9'\n."  # a str of Python 2
    assert cPickle.loads(data) == "é"
    assert cPickle.loads(cPickle.dumps({"a": 1}, cPickle.HIGHEST_PROTOCOL)) == {"a": 1}
    with pytest.raises(UnicodeDecodeError) as caught:
        pickle.loads(data)
    assert "encoding='latin1'" in surroundings.advice(caught.value)


def test_functions_that_name_modules_are_pickled_by_value(old, tmp_path):
    cloudpickle = pytest.importorskip("cloudpickle")
    code = "import time\nimport numpy as np\ndef now():\n    return np.float(time.time())\n"
    again = pickle.loads(cloudpickle.dumps(execute(tmp_path, code)["now"]))
    assert again.__globals__["np"] is np and again.__globals__["time"] is time


# When, and until when


def test_names_that_a_year_had():
    def names(year):
        attributes, gone, changes = _tables.in_force(year)
        return {row.name for _, row in attributes} | {row.name for row in gone} | {module for module, _ in changes}

    assert {"collections.Iterable", "numpy.float", "scipy.misc.imread", "time.clock", "yaml"} <= names(2018)
    assert "scipy.misc.imread" not in names(2020) and "numpy.float" in names(2020)
    assert "numpy.float" not in names(2023) and "numpy.Inf" in names(2023)
    assert "six" in names(2026) and names(2012) == names("auto") and not names("off")


@NEW_NUMPY
def test_as_of_a_year(tmp_path):
    code = """
        import numpy as np
        print(np.Inf)
        from collections import Iterable
        """
    done = run(tmp_path, code, "--as-of=2024")
    assert done.stdout == "inf\n" and "cannot import name 'Iterable'" in done.stderr and done.returncode == 1
    assert run(tmp_path, code, "--as-of", "2020").returncode == 0
    off = run(tmp_path, code, "--as-of", "off")
    assert off.stdout == "" and "compatgrad" not in off.stderr and off.returncode == 1


def test_ragged_arrays_of_a_named_year(tmp_path):
    code = """
        import numpy as np
        ragged = np.array([[1], [1, 2]])
        print(ragged.shape, ragged.dtype, np.asarray([[1.0], []]).dtype, np.array([1, 2]).dtype.kind)
        np.array([[1], [1, 2]], dtype="f4")
        """
    done = run(tmp_path, code, "--as-of=2019")
    assert done.stdout == "(2,) object object i\n" and "inhomogeneous" in done.stderr
    assert done.stderr.count("_numpy.py") == 1  # in the traceback, as a frame between
    assert "--as-of 2022" in run(tmp_path, code).stderr


@NEW_NUMPY
def test_the_file_of_a_program_before_python_39(tmp_path):
    code = """
        import os, shutil
        os.makedirs("out", exist_ok=True)
        shutil.copy(__file__, os.path.join("out", __file__))
        """
    assert run(tmp_path, code, "--as-of=2020").returncode == 0 and (tmp_path / "out" / "train.py").is_file()
    done = run(tmp_path, code, "--as-of=2021")
    assert "SameFileError" in done.stderr and done.stderr.endswith("what the command line says (train.py:3)\n")


def test_arrays_of_one_element_are_numbers(tmp_path):
    code = """
        import copy, math, pickle
        import numpy as np
        import mxnet as mx

        loss = mx.nd.array([0.5]).asnumpy()
        print("%.2f %d" % (loss, mx.nd.array([[3]]).asnumpy()), float(loss + 1), math.log(loss / 0.5), int(loss * 4))
        again = pickle.loads(pickle.dumps(loss))
        print(repr(loss), type(again) is np.ndarray, isinstance(copy.deepcopy(loss), np.ndarray))
        print(type(mx.nd.array([1, 2]).asnumpy()) is np.ndarray, loss.shape, type(loss[0]).__name__)
        import compatgrad.surroundings
        print([(use.name, use.count) for use in compatgrad.surroundings.used()])
        float(np.append(loss, loss))
        """
    done = run(tmp_path, code)
    assert done.stdout.splitlines() == [
        "0.50 3 1.5 0.0 2",
        "array([0.5], dtype=float32) True True",
        "True (1,) float32",
        "[('numpy.ndarray.__float__(1 element)', 5)]",
    ], done.stderr
    assert "TypeError" in done.stderr
    assert "TypeError" in run(tmp_path, code, "--as-of=off").stderr


@NEW_NUMPY
def test_old_names_of_arguments(old, tmp_path):
    names = execute(
        tmp_path,
        """
        import numpy as np
        made = [
            np.reshape([1, 2], newshape=(2, 1)).shape,
            np.percentile([1.0, 2.0], 50, interpolation="lower"),
            np.nanquantile([1.0, np.nan, 2.0], 0.5, interpolation="higher"),
            np.reshape([1, 2], (2, 1)).shape,
        ]
        wrong = []
        for arguments in ({"newshape": 2, "shape": 2}, {"shapes": 2}):
            try:
                np.reshape([1, 2], **arguments)
            except TypeError as error:
                wrong.append(str(error))
        """,
    )
    assert names["made"] == [(2, 1), 1.0, 2.0, (2, 1)] and len(names["wrong"]) == 2
    given = {use.name: use.now for use in surroundings.used()}
    assert given["numpy.reshape(newshape)"] == "numpy.reshape(shape=...)"
    with pytest.raises(TypeError, match="newshape"):  # a library asks
        execute(
            tmp_path,
            "import numpy as np\nnp.reshape([1], newshape=(1, 1))",
            "site-packages/tool.py",
        )


def test_the_cache_folder_of_joblib(old, tmp_path):
    pytest.importorskip("joblib")
    code = """
        import joblib

        memory = joblib.Memory(cachedir=folder, verbose=0)
        calls = []
        double = memory.cache(lambda x: calls.append(x) or 2 * x)
        made = [double(3), double(3)], len(calls), memory.location == joblib.Memory(folder).location
        """
    names = execute(tmp_path, f"folder = {str(tmp_path / 'cache')!r}\n" + textwrap.dedent(code))
    assert names["made"] == ([6, 6], 1, True) and (tmp_path / "cache/joblib").is_dir()
    assert "joblib.Memory(location=...)" in {use.now for use in surroundings.used()}
    with pytest.raises(TypeError, match="cachedir"):  # a library asks
        execute(tmp_path, "import joblib\njoblib.Memory(cachedir='x')", "site-packages/tool.py")


@pytest.mark.parametrize("as_of", ["auto", "off"])
def test_load_unpickles_if_the_user_says_so(tmp_path, as_of):
    code = """
        import multiprocessing, sys
        import numpy as np

        def load(_):
            return np.load("a.npy").item()

        if __name__ == "__main__":
            np.save("a.npy", np.array({"w": 1}))
            np.savez("b.npz", x=np.array({"w": 2}))
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.map(load, [0]), np.load("b.npz")["x"].item())
            np.load("a.npy", allow_pickle=False)
        """
    done = run(tmp_path, code, "--allow-pickle", "--as-of", as_of)
    assert done.stdout == "[{'w': 1}] {'w': 2}\n" and "Object arrays cannot be loaded" in done.stderr
    assert "is given to" not in done.stderr
    assert "Object arrays cannot be loaded" in run(tmp_path, code, "--as-of", as_of).stderr
    assert run(tmp_path, code, "--allow-pickle=yes").returncode == 2


@pytest.mark.parametrize("word", ["1999", "20180", "never", "", "２０１８"])
def test_wrong_years(tmp_path, word):
    done = run(tmp_path, "print(1)", f"--as-of={word}")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--as-of: expected a year from 2012, 'auto' or 'off', got" in done.stderr
    with pytest.raises(ValueError, match="as_of: expected a year"):
        compatgrad.install(as_of=word)


def test_options_after_the_program_are_the_programs(tmp_path):
    (tmp_path / "train.py").write_text("import sys; print(sys.argv[1:])")
    done = python("-m", "compatgrad", "run", "train.py", "--as-of", "off", cwd=tmp_path)
    assert done.stdout == "['--as-of', 'off']\n"


def test_deactivating_leaves_nothing():
    surroundings.deactivate()
    import unittest

    from PIL import Image, ImageDraw

    modules = (np, collections, time, Image)
    before = [type(module) for module in modules], list(sys.meta_path), set(vars(threading.Thread)), set(sys.modules)
    surroundings.activate(quiet=True)
    np.float, collections.Iterable, time.clock, Image.ANTIALIAS, threading.Thread().isAlive
    import Queue

    assert Queue.Queue is not None and type(np) is not types.ModuleType and repr(np).startswith("<module 'numpy' from")
    surroundings.deactivate()
    after = [type(module) for module in modules], list(sys.meta_path), set(vars(threading.Thread))
    assert after == before[:3]
    assert "Queue" not in sys.modules and not hasattr(np, "float")
    assert "__getattr__" not in vars(ImageDraw.ImageDraw) and "__getattr__" not in vars(unittest.TestCase)
    assert surroundings.used()  # the report is made at the end
    assert surroundings.active() == "off"


def test_a_program_on_standard_input(tmp_path):
    code = "import numpy as np\nif not hasattr(np, 'float'):\n    np.float = 'own'\nprint(np.float, np.int)\n"
    done = subprocess.run(
        [sys.executable, "-m", "compatgrad", "run", "-"],
        input=code,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.stdout == "own <class 'int'>\n" and "is given to <stdin>:4;" in done.stderr


def test_install_and_uninstall(tmp_path):
    done = python(
        "-c",
        textwrap.dedent(
            """
            import compatgrad, numpy as np
            compatgrad.install("chainer", as_of=2020)
            print(np.float(1), compatgrad.surroundings.active())
            compatgrad.install("mxnet")
            print(compatgrad.surroundings.active())
            compatgrad.install(as_of="off")
            print(compatgrad.surroundings.active(), hasattr(np, "int"))
            compatgrad.install(as_of="auto")
            compatgrad.uninstall()
            print(compatgrad.surroundings.active())
            """
        ),
        cwd=tmp_path,
    )
    assert done.stdout == "1.0 2020\n2020\noff False\noff\n", done.stderr
    assert "compatgrad.install(as_of='off') turns this off" in done.stderr


def test_a_program_that_installs_itself_does_not_change_the_option(tmp_path):
    done = run(tmp_path, "import compatgrad\ncompatgrad.install()\nimport numpy\nnumpy.float", "--as-of=off")
    assert "AttributeError" in done.stderr and done.returncode == 1


# What is said


def test_the_first_use_is_said_once(tmp_path):
    code = """
        import numpy as np
        for _ in range(3):
            np.float(1)
        from collections import Iterable
        import compatgrad.surroundings
        for use in compatgrad.surroundings.used():
            print(use.library, use.name, use.removed, use.year, use.now, use.line, use.count)
        """
    done = run(tmp_path, code)
    assert done.stderr == (
        "compatgrad: np.float (removed in NumPy 1.24) is given to train.py:3; --as-of off turns this off\n"
    )
    assert done.stdout == (
        "numpy numpy.float 1.24 2022 float 3 3\n"
        "python collections.Iterable 3.10 2021 collections.abc.Iterable 4 1\n"
    )  # fmt: skip


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_and_threads(tmp_path, method):
    code = f"""
        import multiprocessing, threading
        import numpy as np

        def work(x):
            return str(np.float(x))

        if __name__ == "__main__":
            np.float
            with multiprocessing.get_context({method!r}).Pool(1) as pool:
                print(pool.map(work, [1, 2]))
            found = []
            threads = [threading.Thread(target=lambda: [found.append(np.int(1)) for _ in range(200)]) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            import compatgrad.surroundings
            print(len(found), sum(use.count for use in compatgrad.surroundings.used() if use.name == "numpy.int"))
        """
    done = run(tmp_path, code)
    assert done.stdout == "['1.0', '2.0']\n800 800\n", done.stderr
    assert done.stderr.count("compatgrad:") == 1


@pytest.mark.parametrize(
    "ending",
    [
        "import time\ntime.foo",
        "import numpy as np\nnp.flot",
        "import threading\nthreading.Thread().isalive",
        "import numpyy",
        "import yaml",
        "import scipy.misc",
        "from collections import Iterables",
        "import PIL.Image, PIL.ImageDraw\nPIL.ImageDraw.Draw(PIL.Image.new('L', (1, 1))).foo",
        "import os, sys, collections\nprint(os, sorted(vars(os)) == sorted(dir(os)), collections.OrderedDict)\n1 / 0",
    ],
)
def test_other_errors_look_as_without(tmp_path, ending):
    (tmp_path / "yaml.py").write_text("import does_not_exist\n")
    ours = run(tmp_path, ending)
    plain = python("train.py", cwd=tmp_path)
    assert (ours.stdout, ours.stderr, ours.returncode) == (plain.stdout, plain.stderr, plain.returncode)


@NEW_NUMPY
@pytest.mark.parametrize(
    "code, text",
    [
        ("np.zeros(2).tostring()", "a.tobytes()"),
        ("np.zeros(2).itemset(0, 1)", "a[index] = value"),
        ("np.zeros(2).ptp()", "numpy.ptp(a)"),
        ("import array; array.array('b').tostring()", "array.array.tostring was removed in Python 3.9"),
        ("import xml.etree.ElementTree as E; E.Element('a').getchildren()", "list(element)"),
        ("{}.iteritems()", "dict.iteritems was removed in Python 3; write items()"),
        ("np.save('a.npy', np.array([{}])); np.load('a.npy')", "a pickle can run any code"),
        ("np.array([[1], [1, 2]])", "dtype=object"),
        ("np.array([1], dtype='f4', copy=False).astype; np.array([1], copy=False)", "np.asarray"),
        ("np.uint8(3) + 300", "np.array(value).astype(dtype)"),
        ("np.histogram([1], normed=True)", "density="),
        ("len(map(int, '12'))", "write list(...) around the call"),
        ("dict(a=1).keys()[0]", "write list(...) around the call"),
        ("range(2) + [3]", "write list(...) around the call"),
        ("range(2)[0] = 1", "write list(...) around the call"),
        ("np.zeros(3.0)", "int(...)"),
        ("import json; json.loads('1', encoding='utf8')", "leave it out"),
        ("import matplotlib.style; matplotlib.style.use('seaborn-whitegrid')", "seaborn-v0_8-whitegrid"),
        ("raise ModuleNotFoundError(\"No module named 'cgi'\", name='cgi')", "the package legacy-cgi"),
        ("raise ModuleNotFoundError(\"No module named 'cupy'\", name='cupy')", "pip install cupy-cuda12x"),
    ],
)
def test_advice(old, tmp_path, monkeypatch, code, text):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Exception) as caught:
        execute(tmp_path, f"import numpy as np\n{code}\n")
    advice = surroundings.advice(caught.value)
    assert text in advice and advice.endswith("program.py:2)"), advice


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="NumPy converts such arrays")
def test_arrays_of_one_element_are_no_numbers(old, tmp_path):
    with pytest.raises(TypeError) as caught:
        execute(tmp_path, "import numpy as np\nprint('%f' % np.ones(1))")
    assert "numpy<2.4" in surroundings.advice(caught.value)


@NEW_NUMPY
def test_advice_is_the_last_line_of_a_program_that_stops(tmp_path):
    done = run(tmp_path, "import numpy as np\nnp.zeros(2).tostring()\n")
    *_, last = done.stderr.splitlines()
    assert last == (
        "compatgrad: numpy.ndarray.tostring was removed in NumPy 2.3, and compatgrad cannot add it to a compiled type; "
        "write a.tobytes() (train.py:2)"
    )


def test_advice_for_programs_of_python_2(old, tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package/common.py").write_text("")
    with pytest.raises(ModuleNotFoundError) as caught:
        execute(tmp_path, "import common\n", "package/program.py")
    assert f"with PYTHONPATH={tmp_path / 'package'} Python 3 finds it" in surroundings.advice(caught.value)
    with pytest.raises(SyntaxError) as caught:
        execute(tmp_path, "print 'a'\n")
    assert surroundings.advice(caught.value).startswith("program.py is written in Python 2's syntax")


def test_other_errors_have_no_advice():
    for error in (ValueError("x"), AttributeError("y"), ModuleNotFoundError("z", name="z"), KeyError(1)):
        assert surroundings.advice(error) is None
