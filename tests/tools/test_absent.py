"""Names that the frontends do not have explain themselves, or the name that was meant is suggested."""

import importlib.util
import pickle
import subprocess
import sys

import pytest

from compatgrad.names import absent, database, table
from tests.census import deviations, names, reasons

PROGRAM = """
import compatgrad; compatgrad.install()
import chainer.gradient_check as check  # while it is imported, another module imports it by `from chainer import`
print(check.check_backward.__name__)
import mxnet as mx
try:
    mx.sym.Convolutoin
except AttributeError as error:
    print(error)
import mxnet.torch
"""


def test_a_program():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "check_backward",
        "module 'mxnet.symbol' has no attribute 'Convolutoin'. "
        "Did you mean Convolution or Deconvolution or Convolution_v1?",
    ]
    text = done.stderr.splitlines()[-1]
    assert text.startswith("ModuleNotFoundError: No module named 'mxnet.torch'. MXNet 1.9.1 has a module of this name")
    assert "plugin for Lua's Torch" in text and "See docs/mixing.md" in text


def message(statement: str, kind: type[Exception]) -> str:
    with pytest.raises(kind) as caught:
        exec(statement, {})
    assert type(caught.value).__name__ == kind.__name__
    return str(caught.value)


def test_absent_names():
    text = message("from compatgrad import mxnet; mxnet.nd.imdecode", AttributeError)
    assert text == (
        "module 'compatgrad.mxnet.ndarray' has no attribute 'imdecode'. MXNet 1.9.1 has a function of this name, "
        "compatgrad has none: it fails in the original for every image. Use instead: mxnet.image.imdecode. "
        "See docs/tools.md#missing-names."
    )
    text = message("import compatgrad.nnabla.utils.py23_compatible", ModuleNotFoundError)
    assert "No module named 'compatgrad.nnabla.utils.py23_compatible'. nnabla 1.39.0 has a module" in text
    text = message("from compatgrad.mxnet import notebook", ImportError)
    assert text.startswith("cannot import name 'notebook' from 'compatgrad.mxnet'") and "matplotlib" in text
    text = message("from compatgrad.chainer.functions.pooling import pooling_nd_kernel", ImportError)
    assert "CUDA kernels" in text
    # a module that makes its names on demand, and one below an absent module
    assert "no attribute 'Dummy'. nnabla" in message("import compatgrad.nnabla.function as f; f.Dummy", AttributeError)
    text = message("import compatgrad.mxnet.notebook.callback", ModuleNotFoundError)
    assert "'compatgrad.mxnet.notebook'. MXNet" in text


@pytest.mark.parametrize(
    ("module", "name", "meant"),
    [
        ("chainer.functions", "Relu", "relu or rrelu or relu6"),
        ("chainer.functions", "Maxout", "maxout or compatgrad.chainer.links.Maxout"),
        ("chainer", "functionss", "functions or Function or function_hooks"),
        ("nnabla.functions", "convlution", "convolution or deconvolution or inq_convolution"),
        ("nnabla.function", "Relu", "ReLU or ReLU6 or PReLU"),
        ("mxnet.gluon.nn", "Conv2d", "Conv2D or Conv3D or Conv1D"),
        ("mxnet.nd", "FullyConected", "FullyConnected"),
    ],
)
def test_misspelt_names(module, name, meant):
    import_ = f"import compatgrad.{module.partition('.')[0]}, importlib; m = importlib.import_module('compatgrad')\n"
    text = message(f"{import_}import operator; operator.attrgetter({f'{module}.{name}'!r})(m)", AttributeError)
    assert text.endswith(f"has no attribute {name!r}. Did you mean {meant}?")


def test_misspelt_modules_and_objects_that_are_no_modules():
    text = message("import compatgrad.chainer.trainning", ModuleNotFoundError)
    assert text.endswith("Did you mean training?")
    text = message("import compatgrad.chainer.functions.relu", ModuleNotFoundError)
    assert text.endswith("It is no module; `from compatgrad.chainer.functions import relu` imports it.")
    text = message("from compatgrad.nnabla import functons", ImportError)
    assert text.startswith("cannot import name 'functons'") and text.endswith(
        "functions or function or function_bases?"
    )


def test_names_of_earlier_versions():
    text = message("import compatgrad.chainer.functions as F; F.EmbedID", AttributeError)
    assert text.endswith(
        "Chainer 7.8.1 does not have it either: Chainer 1 had layers among the functions. "
        "Use instead: chainer.links.EmbedID. See docs/tools.md#missing-names."
    )
    text = message("import compatgrad.chainerx as chainerx; chainerx.array", AttributeError)
    assert "ChainerX is not part of compatgrad" in text


def test_methods_when_an_error_stops_a_program():
    """`run` adds the reason below the traceback: classes explain nothing, which would make every attribute slower."""
    code = "import nnabla as nn; nn.Variable((1,)).get_number_of_references()"
    done = subprocess.run([sys.executable, "-m", "compatgrad", "run", "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-2:] == [
        "AttributeError: 'Variable' object has no attribute 'get_number_of_references'",
        "compatgrad: nnabla.Variable.get_number_of_references: nnabla 1.39.0 has a property of this name, compatgrad "
        "has none: it reports on the original's memory management. See docs/deviations.md#nnabla-different.",
    ]
    assert absent.advice(AttributeError("x")) is absent.advice(KeyError("x")) is None
    with pytest.raises(AttributeError) as caught:
        "".nothing  # noqa: B018
    assert absent.advice(caught.value) is None


def test_names_that_nobody_has_get_no_explanation():
    """A row with a wildcard, `*Grad`, does not claim that the original has a misspelt name."""
    text = message("import compatgrad.chainer.functions as F; F.zyxwGrad", AttributeError)
    assert text == "module 'compatgrad.chainer.functions' has no attribute 'zyxwGrad'"


def test_probes_go_on_working():
    import compatgrad.chainer.functions as functions
    import compatgrad.mxnet as mxnet

    assert not hasattr(functions, "no_such_name") and getattr(mxnet, "torch", 3) == 3
    assert importlib.util.find_spec("compatgrad.mxnet.torch") is None
    assert importlib.util.find_spec("compatgrad.mxnet.gluon") is not None
    try:
        from compatgrad.mxnet import torch
    except ImportError:
        torch = None
    assert torch is None
    # other packages are not concerned
    assert "Did you" not in message("import email.mimee", ModuleNotFoundError)


def test_the_text_is_made_when_it_is_read(monkeypatch):
    import compatgrad.chainer.functions as functions

    asked = []
    monkeypatch.setattr(absent, "suggestion", lambda *args: asked.append(args) or "Maybe.")
    assert not hasattr(functions, "no_such_name")
    with pytest.raises(AttributeError) as caught:
        functions.no_such_name  # noqa: B018
    assert not asked and caught.value.name == "no_such_name"
    assert str(caught.value).endswith("Maybe.") and str(caught.value) == caught.value.args[0]
    assert len(asked) == 1


def test_the_errors_can_be_pickled():
    with pytest.raises(ImportError) as caught:
        exec("from compatgrad.chainer.functions import reluu", {})
    copy = pickle.loads(pickle.dumps(caught.value))
    assert type(copy) is ImportError and str(copy) == str(caught.value) == caught.value.msg
    assert repr(caught.value) == f"ImportError({str(caught.value)!r})"


def test_the_table_of_absences():
    rows = table.parse("# text\n\nm.f\tit is old\nm.g*\tit is new\tm.h\tdocs/x.md\n")
    assert rows == [table.Row("m.f", "it is old"), table.Row("m.g*", "it is new", "m.h", "docs/x.md")]
    assert rows[1].sentence() == "it is new. Use instead: m.h. See docs/x.md."
    for text in ("m.f it is old", "m.f\t", "m.f\ta\tb\tc\td"):
        with pytest.raises(ValueError, match="absent.txt:1: a line is"):
            table.parse(text, "absent.txt")
    assert table.row_of("mxnet.torch.abs") == table.row_of("mxnet.torch") != table.row_of("mxnet.th")
    assert table.row_of("mxnet.gluon.nn.Dense") is None and table.row_of("numpy.float") is None


@pytest.mark.parametrize("frontend", table.ORIGINALS)
def test_support_pages_get_every_absence(frontend):
    """`database.absences` yields a reason for each name that the database calls absent."""
    found = {name: (kind, row) for name, kind, row in database.absences(frontend)}
    assert set(found) == {name for name, _ in database.absent(frontend)} and len(found) > 100
    assert {kind for kind, _ in found.values()} <= {"module", "class", "function", "value", "property"}
    # every row of the table is about some name that the original has; names of Python 2's methods are not public
    judged = reasons.Reasons.read(frontend)
    assert all(judged.of(f"{name}: absent") for name in found)


def test_every_reason_says_where_to_look():
    for frontend in table.ORIGINALS:
        for row in table.rows(frontend):
            page, _, anchor = row.where.partition("#")
            text = (names.ROOT / page).read_text(encoding="utf-8")
            headings = {deviations.anchor(line[3:]) for line in text.splitlines() if line.startswith("## ")}
            assert not anchor or anchor in headings, row
            assert not row.reason.endswith(".") and not row.instead.endswith("."), row


def test_the_databases_are_up_to_date():
    """In the Python version with which they were written; others may give classes other members."""
    versions = {database.read(frontend)["python"] for frontend in table.ORIGINALS}
    if versions != {f"{sys.version_info[0]}.{sys.version_info[1]}"}:
        pytest.skip(f"written with Python {', '.join(sorted(versions))}")
    for frontend, data in names.build(list(table.ORIGINALS)).items():
        stored = database.read(frontend)
        assert stored == {**data, "since": stored["since"]}, "`make names` writes the files"
