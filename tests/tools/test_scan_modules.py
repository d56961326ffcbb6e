"""`compatgrad scan`: names that a file imports from other files of the program, and properties that it assigns."""

import pathlib
import textwrap

import pytest

from compatgrad.tools.scan import command, packages


@pytest.fixture
def scan(tmp_path, monkeypatch):
    """Scans files; gives the findings of main.py as "LINE CODE NAME"."""
    monkeypatch.chdir(tmp_path)

    def run(**files):
        for name, text in files.items():
            path = tmp_path / (name.replace("__slash__", "/") + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        command._modules.clear()
        (result,) = command.scan([pathlib.Path("main.py")])
        return [f"{f.line} {f.code} {f.name}" for f in result.findings if f.code not in ("CG201", "CG330")], result

    return run


COMMON = """
    import numpy as np
    import chainer.functions as F
    from mxnet import nd

    _hidden = F


    class Net(object):
        pass
"""


@pytest.mark.parametrize(
    "first", ["from common import *", "from common import F, np, nd", "import common as c\nF, np = c.F, c.np"]
)
def test_names_of_another_module(scan, first):
    found, result = scan(common=COMMON, main=first + "\nF.relu(1)\nF.no_such(1)\nnp.float\n")
    shift = first.count("\n")
    assert found == [f"{3 + shift} CG104 chainer.functions.no_such", f"{4 + shift} CG320 numpy.float"]
    assert (
        result.uses["chainer.functions.relu", "same"] == 1
        or result.uses["chainer.functions.activation.relu.relu", "same"]
    )
    assert result.frameworks == ["chainer"]


def test_names_that_start_with_an_underscore_or_that_the_module_does_not_have(scan):
    found, result = scan(common=COMMON, main="from common import *\n_hidden.no_such\nchainer.functions.no_such\n")
    assert not found and not result.uses


def test_packages_and_relative_imports(scan):
    found, _ = scan(
        pkg__slash____init__="from .inner import G",
        pkg__slash__inner="from ..common import F as G",
        common=COMMON,
        main="""\
            import pkg
            import pkg.inner
            from pkg import inner, G
            from pkg.inner import G as H

            pkg.G.a
            pkg.inner.G.b
            inner.G.c
            G.d
            H.e
            """,
    )
    assert found == [f"{line} CG104 chainer.functions.{name}" for line, name in zip(range(6, 11), "abcde", strict=True)]


def test_modules_that_import_each_other(scan):
    found, _ = scan(
        a="from b import *\nimport chainer.functions as F", b="from a import F", main="from a import F\nF.x"
    )
    assert found == ["2 CG104 chainer.functions.x"]


def test_a_file_of_the_program_is_not_taken_for_a_framework(scan):
    found, _ = scan(chainer="functions = 1", main="import chainer\nchainer.functions.no_such\n")
    assert found == ["2 CG104 chainer.functions.no_such"]


def test_modules_of_folders_outside_of_the_working_folder_are_not_looked_at(scan, tmp_path, monkeypatch):
    (tmp_path / "sub").mkdir()
    (tmp_path / "common.py").write_text(textwrap.dedent(COMMON))
    (tmp_path / "sub/main.py").write_text("from common import F\nF.no_such\n")
    monkeypatch.chdir(tmp_path / "sub")
    command._modules.clear()
    (result,) = command.scan([pathlib.Path("main.py")])
    assert [(f.code, f.name) for f in result.findings] == [("CG330", "common")]


def test_properties_without_setter(scan):
    found, result = scan(
        main="""\
            import chainer

            it = chainer.iterators.SerialIterator([1], 2)
            it.current_position = 0
            it.current_position
            it.batch_size = 3
            optimizer = chainer.optimizers.SGD()
            optimizer.lr = 3
            """
    )
    assert found == ["4 CG107 chainer.iterators.SerialIterator.current_position"]
    assert result.findings[0].level == "error" and result.findings[0].status == "unknown"


def test_packages_that_are_not_installed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    installed = packages.installed
    monkeypatch.setattr(packages, "installed", lambda root: root != "chainercv" and installed(root))
    (tmp_path / "lib/ops").mkdir(parents=True)
    (tmp_path / "lib/ops/fast.py").write_text("import no_such_package.sub\nfrom no_such_package import x\n")
    (tmp_path / "train.py").write_text(
        textwrap.dedent(
            """\
            import os, numpy, torch, chainer, no_such_package
            from chainercv import links
            import fast  # found by sys.path
            import ops.fast
            import imp, cPickle, six, pycuda
            try:
                import _mine
            except ImportError:
                pass
            """
        )
    )
    assert command.main(["."]) == 0
    out = capsys.readouterr().out
    listed = out.partition("that are not here:\n")[2].partition("\n\n")[0].splitlines()
    how = "compatgrad does not know it: a package, or a file that is not among those scanned"
    assert listed == [
        f"  no_such_package: imported in 2 files, first at lib/ops/fast.py:1:8: {how}",
        "  _mine: imported in 1 file, first at train.py:7:12: perhaps a C extension of the program, which must be "
        "built; the program expects that it may be missing",
        "  chainercv: imported in 1 file, first at train.py:2:1: pip install --no-deps chainercv; its own tests were "
        "run on compatgrad: docs/conformance.md",
    ]
    assert command.main(["train.py", "--show", "all"]) == 0
    assert "train.py:1:35: CG330 outside: no_such_package: not installed; compatgrad" in capsys.readouterr().out
    (tmp_path / "one").mkdir()
    (tmp_path / "one/main.py").write_text("import beside.thing\n")
    (tmp_path / "one/beside").mkdir()
    assert command.main(["one/main.py"]) == 0 and "beside" not in capsys.readouterr().out


def test_the_list_of_packages_is_complete():
    known = packages._known()
    assert len(known) > 50 and all(how == "-" or how.startswith("pip install ") for how, _ in known.values())
    assert not {"numpy", "chainer", "mxnet", "os"} & known.keys()


def test_modules_that_a_package_of_the_program_lacks(scan, capsys):
    found, result = scan(
        net__slash____init__="",
        net__slash__graph="x = 1\n",
        net__slash__sub__slash__deep="x = 1\n",
        main="""\
            import net._sampler as s
            import net.graph, net.sub
            from net._fast import f
            from net import _other
            from .net._gone import g
            from .net import graph
            from .missing import h
            import numpy.no_such
            """,
    )
    assert [(f.line, f.name) for f in result.findings] == [
        (1, "net._sampler"),
        (3, "net._fast"),
        (5, ".net._gone"),
        (7, ".missing"),
    ]
    scan(
        pack__slash____init__="",
        pack__slash__tensorflow__slash____init__="",
        pack__slash__tensorflow__slash__importer="from tensorflow.core import x\nimport tensorflow.python\n",
        main="import pack.tensorflow.importer\n",
    )
    (result,) = command.scan([pathlib.Path("pack/tensorflow/importer.py")])
    assert [f.name for f in result.findings] in ([], ["tensorflow"])  # another package of that name, perhaps installed
    scan(main="import net._sampler as s\n")
    command.main(["main.py"])
    out = capsys.readouterr().out
    where = "imported in 1 file, first at main.py:1:8"
    assert f"  net._sampler: {where}: the program's package has no such module; perhaps it is a C extension" in out
