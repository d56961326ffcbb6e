"""`compatgrad scan`: what it says about programs of all three originals, in every format."""

import json
import pathlib
import subprocess
import sys
import textwrap
import time
import zipfile

import pytest

import compatgrad
from compatgrad.names import database, table
from compatgrad.tools.scan import command, findings, sources
from tests.census import deviations


@pytest.fixture
def scan(tmp_path, monkeypatch):
    """Scans a program; gives its findings as "LINE CODE NAME", and the result."""
    monkeypatch.chdir(tmp_path)

    def run(text, name="program.py"):
        (tmp_path / name).write_text(textwrap.dedent(text))
        (result,) = command.scan([pathlib.Path(name)])
        return [f"{f.line} {f.code} {f.name}" for f in result.findings if f.code not in ("CG201", "CG330")], result

    return run


def counts(result, status="same"):
    """name -> how often it is used, of a status."""
    return {name: count for (name, s), count in result.uses.items() if s == status}


def test_a_chainer_program(scan):
    found, result = scan(
        """\
        import chainer
        import chainer.functions as F
        from chainer import links as L, Variable


        class Net(chainer.Chain):
            def __init__(self, n):
                super(Net, self).__init__()
                with self.init_scope():
                    self.l1 = L.Linear(None, n, initialW=3, nobia=True)
                    self.bn = L.BatchNormalization(n)

            def __call__(self, x):
                h = F.relu(self.bn(self.l1(x)))
                h = F.dropout(h, train=True)
                self.cleargrads()
                return F.Relu(h) + self.xp.zeros(3) + self.own_attribute


        model = Net(3)
        model.to_gpu()
        x = Variable(chainer.cuda.cupy.zeros(3), volatile="on")
        x.unchain_backward()
        F.convolution_2d(x, x, 1, 2, 3, 4, 5, 6, 7, 8)
        L.Convolution2D(3, 8, 1, 1, 0, True, nobias=True)
        L.Convolution2D(*x, nobias=True)
        """
    )
    assert found == [
        "10 CG105 chainer.links.Linear(nobia)",
        "15 CG105 chainer.functions.dropout(train)",
        "17 CG104 chainer.functions.Relu",
        "22 CG105 chainer.Variable(volatile)",
        "24 CG105 chainer.functions.convolution_2d(...)",
        "25 CG105 chainer.links.Convolution2D(nobias)",
    ]
    same = counts(result)
    assert same["chainer.functions.relu"] == same["chainer.Chain.cleargrads"] == same["chainer.Chain.xp"] == 1
    assert same["chainer.Variable.unchain_backward"] == same["chainer.Chain.to_gpu"] == 1
    assert result.frameworks == ["chainer"]
    by_name = {f.name: f for f in result.findings}
    assert by_name["chainer.links.Linear(nobia)"].help == "did you mean nobias?"
    assert "chainer.using_config" in by_name["chainer.functions.dropout(train)"].message
    assert by_name["chainer.functions.Relu"].help.startswith("did you mean relu or")
    assert by_name["chainer.functions.Relu"].column == 16 and by_name["chainer.functions.Relu"].end_column == 22


def test_an_mxnet_program(scan):
    found, result = scan(
        """\
        import mxnet as mx
        from mxnet import autograd, gluon, nd, torch
        from mxnet.gluon import nn

        data = mx.sym.Variable("data")
        net = mx.sym.Convolution(data=data, kernel=(3, 3), num_filter=3, name="c")
        net = mx.sym.Convolutoin(net)
        mod = mx.mod.Module(net, context=mx.gpu(0))
        mod.fit(None, kvstore="dist_async", optimizer="sgd")
        trainer = gluon.Trainer(None, "sgdd")
        kv = mx.kv.create("device")
        mx.io.ImageDetRecordIter("x.rec", data_shape=(3, 2, 2), batch_size=2, max_shear_ratio=1.1)
        nd.array([1]).asnumpy()
        mx.nd.imdecode(b"")


        class Block(gluon.HybridBlock):
            def __init__(self):
                super().__init__()
                self.dense = nn.Dense(3, activatoin="relu", prefix="dense_")  # Dense passes prefix on to its base

            def hybrid_forward(self, F, x, weight=None):
                x = F.concat(x, x, dim=1)
                return F.FullyConnected(self.dense(x), weight, num_hidden=3) + F.no_such_operator(x)
        """
    )
    assert found == [
        "2 CG101 mxnet.torch",
        "7 CG104 mxnet.symbol.Convolutoin",
        "9 CG103 mxnet.module.Module.fit('dist_async')",
        "10 CG105 mxnet.gluon.Trainer('sgdd')",
        "14 CG102 mxnet.nd.imdecode",
        "20 CG105 mxnet.gluon.nn.Dense(activatoin)",
        "24 CG104 mxnet.ndarray.no_such_operator",
    ]
    assert counts(result, "partial") == {"mxnet.module.Module.fit": 1}
    assert counts(result, "differs")["mxnet.ndarray.FullyConnected"] == counts(result)["mxnet.symbol.Convolution"] == 1
    assert result.guessed[("mxnet.ndarray.NDArray.asnumpy", "same")] == 1
    assert result.findings[0].level == findings.ERROR and "docs/mixing.md" in result.findings[0].help


def test_an_nnabla_program(scan):
    found, result = scan(
        """\
        import nnabla as nn, nnabla.functions as F
        import nnabla.parametric_functions as PF
        import nnabla.solvers as S
        from nnabla.ext_utils import get_extension_context
        from nnabla.utils.py23_compatible import something

        nn.set_default_context(get_extension_context("cudnn", device_id="0"))
        x = nn.Variable((1, 2), need_gradd=True)
        h = F.relu(PF.convolution(x, 3, (1, 1), with_bias=False), inplace=True)
        h.forward(clear_no_need_grad=True)
        S.Adam(alhpa=1e-3).set_parameters(nn.get_parameters())
        x.get_number_of_references()
        """
    )
    assert found == [
        "5 CG101 nnabla.utils.py23_compatible",
        "8 CG105 nnabla.Variable(need_gradd)",
        "11 CG105 nnabla.solver.Adam(alhpa)",
        "12 CG102 nnabla.Variable.get_number_of_references",
    ]
    assert counts(result)["nnabla.parametric_functions.convolution"] == 1


def test_names_are_followed_through_imports_and_assignments(scan):
    found, result = scan(
        """\
        import chainer
        functions = chainer.functions
        f, g = functions.relu, functions.tanhh
        from chainer.functions import *
        sigmoid(1)
        softmaxx(2)
        def h(relu=f, F=chainer.functions):
            relu.foo
            F.nothing_is_known_of_an_argument
            links = chainer.links
            return links.Linear, links.Linearr
        act = {"a": chainer.functions.elu, "b": lambda chainer: chainer.foo}
        [chainer.bar for chainer in range(3)]
        getattr(chainer.functions, "relu")
        getattr(chainer.functions, "reluu", None)
        getattr(chainer.functions, act)
        """
    )
    assert found == [
        "3 CG104 chainer.functions.tanhh",
        "11 CG104 chainer.links.Linearr",
        "15 CG104 chainer.functions.reluu",
        "16 CG106 chainer.functions",
    ]
    assert counts(result)["chainer.functions.relu"] == 3 and counts(result)["chainer.functions.sigmoid"] == 1
    assert result.unresolved == 1
    assert [f.level for f in result.findings if f.line == 15] == [findings.NOTE]


def test_names_that_a_program_can_do_without(scan):
    found, result = scan(
        """\
        try:
            import mxnet.torch as mt
            from mxnet import torchh
        except ImportError:
            mt = None
        import mxnet as mx
        if hasattr(mx, "torch"):
            mx.torch.abs(3)
        if mt:
            mt.abs(3)
        """
    )
    assert found == ["2 CG101 mxnet.torch", "3 CG104 mxnet.torchh", "8 CG101 mxnet.torch"]
    assert all(f.guarded and f.level == findings.NOTE for f in result.findings)


def test_a_name_that_may_be_a_module_stays_one(scan):
    found, _ = scan(
        """\
        try:
            import chainermn
        except ImportError:
            chainermn = None
        import chainer.functions as F
        F = None
        F.foo
        chainermn.foo
        """
    )
    assert found == ["8 CG104 chainermn.foo"]


def test_classes_of_the_program(scan):
    """`super()` and attributes of classes that the program defines are not the frontend's."""
    found, result = scan(
        """\
        import chainer
        class Base(chainer.Chain):
            def __init__(self, n, *, more):
                super().__init__()
            def cleargrads(self, own_argument):
                pass
        class Net(Base):
            def __init__(self):
                super().__init__(3, more=4)
                self.cleargrads(own_argument=3)
                self.add_param("W", (3,), initalizer=0)
        class Other(Unknown, chainer.Chain):
            def __init__(self):
                super().__init__(1, 2, 3)
        Net().zerograds()
        """
    )
    assert found == ["11 CG105 chainer.Chain.add_param(initalizer)"]
    assert "chainer.Chain.cleargrads" not in counts(result) and counts(result)["chainer.Chain.zerograds"] == 1


def test_calls_and_methods_of_chainer_1(scan):
    found, result = scan(
        """\
        import chainer, chainer.links as L
        from chainer import iterators, optimizers
        from chainer.training import extensions
        class Net(chainer.Chain):
            def __init__(self):
                super(Net, self).__init__(bn=L.BatchNormalization(3), rnn=L.NStepGRU(1, 2, 3, 0.5))
                self.l = L.Linear(2, 3)
            def __call__(self, x, test):
                self.rnn(None, [x], train=not test)
                self.l(x, n_batch_axes=1)
                return self.bn(self.l(x), test=test)
        optimizer = optimizers.Adam()
        optimizer.zero_grads()
        optimizer.alpha = optimizer.own = 3
        order = iterators.SerialIterator([], 1)._order
        extensions.snapshot_object(None, "x", trigger=(1, "epoch"))
        extensions.snapshot(num_retain=3)
        bn = L.BatchNormalization(3)
        bn(order, finetune=True)
        """
    )
    assert found == [
        "9 CG105 chainer.links.NStepGRU.forward(train)",
        "11 CG105 chainer.links.BatchNormalization.forward(test)",
        "13 CG104 chainer.Optimizer.zero_grads",
        "15 CG104 chainer.iterators.SerialIterator._order",
        "16 CG105 chainer.training.extensions.snapshot_object(trigger)",
    ]


def test_code_that_nobody_runs(scan):
    found, _ = scan(
        """\
        import ctypes, numpy as np
        from pycuda import driver
        from chainer import cuda
        import cupy
        lib = ctypes.CDLL("x.so")
        cuda.elementwise("T x", "T y", "y = x", "f")(3)
        cuda.cupy.ElementwiseKernel("T x", "T y", "y = x", "f")
        kernel = cupy.RawKernel("", "f")
        np.zeros(3, np.float)
        np.reshape([1], newshape=(1, 1))
        """
    )
    assert found == [
        "2 CG301 pycuda.driver",
        "5 CG301 ctypes.CDLL",
        "6 CG301 chainer.backends.cuda.elementwise",
        "7 CG301 chainer.cuda.cupy.ElementwiseKernel",
        "8 CG301 cupy.RawKernel",
        "9 CG320 numpy.float",
        "10 CG320 numpy.reshape(newshape)",
    ]


def test_differences_are_those_of_the_page(scan):
    _, result = scan(
        """\
        import chainer.functions as F
        F.softmax_cross_entropy(1, 2)
        F.softmax_cross_entropy(1, 2, reduce="no")
        F.absolute(3)
        """
    )
    rows = [f for f in result.findings if f.code == "CG201"]
    with_keyword = [f.line for f in rows if 'reduce="no"' in f.message]
    assert with_keyword == [3]
    (absolute,) = [f for f in rows if f.name == "chainer.functions.absolute"]
    assert absolute.deviation == "docs/deviations.md#chainer-different" and absolute.message == (
        "The case: second derivative of `absolute`. Chainer 7.8.1: None. compatgrad: zeros. "
        "Reason: as for the other functions with a kink."
    )
    assert counts(result, "differs")["chainer.functions.absolute"] == 1 and set(counts(result)) == {"chainer.functions"}


def test_names_of_a_row():
    """Of docs/deviations.md: the names in backticks, or those of a comment."""
    named = deviations._named
    assert named('`f(reduce="no")`, `x.y` of a `.grad`, `g(x)`') == [("f", "reduce"), ("x.y", ""), ("g", "")]
    assert named("`f` <!-- names: a.b, a.c(k) -->") == [("a.b", ""), ("a.c", "k")]
    assert named("`f` <!-- names: -->") == []
    for frontend in table.ORIGINALS:
        assert len(deviations.rows(frontend)) > 60
    keyword = [keyword for _, keyword in database.read("mxnet")["differs"]["mxnet.autograd.record"]]
    assert set(keyword) == {"train_mode"}


def test_python_2(scan):
    found, result = scan(
        """\
        import chainer.functions as F, mxnet.torch
        print "loss", F.relu
        try:
            print >>f, F.reluu, `3`, 0777, 10L
        except IOError, e:
            raise ValueError, "bad"
        if 1 <> 2: exec "code"
        def f(a, (b, c)): print "several lines %d" % (F.tanh,
            F.tanhh)
        lambda (a, b): F.sigmoid
        """
    )
    assert found == [
        "1 CG101 mxnet.torch",
        "2 CG310 ",
        "4 CG104 chainer.functions.reluu",
        "9 CG104 chainer.functions.tanhh",
    ]
    assert {"chainer.functions.relu", "chainer.functions.tanh", "chainer.functions.sigmoid"} <= set(counts(result))


def test_files_with_errors(scan, tmp_path):
    found, result = scan("import chainer.functions as F\nF.reluu\nx = = 3\nF.tanhh\n")
    assert found == ["2 CG104 chainer.functions.reluu", "3 CG311 ", "4 CG104 chainer.functions.tanhh"]
    assert "1 line left out" in result.findings[1].message
    for name, data in {
        "bytes.py": b"\x00\x01\xff",
        "coding.py": b"# -*- coding: no-such -*-\nimport chainer\n",
        "deep.py": b"x = " + b"(" * 3000 + b")" * 3000,
        "chain.py": b"import chainer\nx = " + b"+".join([b"chainer"] * 30000),
        "no.ipynb": b'{"cells": 3}',
        "list.ipynb": b"[1, 2]",
        "not.ipynb": b"{",
    }.items():
        (tmp_path / name).write_bytes(data)
        (result,) = command.scan([tmp_path / name])
        assert [f.code for f in result.findings if f.code == "CG311"] == ["CG311"], name
    (tmp_path / "latin.py").write_bytes(b"import chainer\nchainer.foo  # gr\xfc\xdfe\n")
    (result,) = command.scan([tmp_path / "latin.py"])
    assert [f.name for f in result.findings] == ["chainer.foo"]
    (tmp_path / "none.py").write_bytes(b"")
    assert not command.scan([tmp_path / "none.py"])[0].findings


def test_columns_count_characters(scan):
    _, result = scan('import chainer.functions as F\nx = "größer", F.reluu\n')
    assert [(f.line, f.column, f.end_column) for f in result.findings] == [(2, 15, 22)]


def test_notebooks(scan, tmp_path):
    cells = [
        {"cell_type": "markdown", "source": ["import chainer.nothing"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "import chainer.functions as F\n", "!ls -l\n", "F?"]},
        {"cell_type": "code", "source": "%%bash\nF.nothing here"},
        {"cell_type": "code", "source": "%%time\nfiles = !ls\nF.relu(F.reluu)\n"},
    ]
    found, result = scan(json.dumps({"cells": cells, "nbformat": 4}), "book.ipynb")
    assert found == ["3 CG104 chainer.functions.reluu"]
    assert result.findings[0].place() == "book.ipynb:cell 3:3:8"
    assert sources.without_magics("a = %timeit f()\n  !pip x\nx.y??") == "pass\n  pass\npass"


def test_stored_networks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    inner = {"nodes": [{"op": "NoSuchOp", "name": "z", "inputs": []}], "heads": []}
    operators = ["null", "Convolution", "_MulScalar", "_foreach", "_contrib_quantized_rnn", "MyOp", "MyOp"]
    nodes = [{"op": op, "name": str(i), "inputs": []} for i, op in enumerate(operators)]
    nodes[3]["subgraphs"] = [inner]
    (tmp_path / "net-symbol.json").write_text(json.dumps({"nodes": nodes, "heads": []}, indent=1))
    (tmp_path / "other.json").write_text("{}")
    text = 'network {\n function {\n  name: "a"\n  type: "Affine"\n }\n function {\n  type: "Afine"\n }\n}\n'
    (tmp_path / "net.nntxt").write_text(text)
    with zipfile.ZipFile(tmp_path / "net.nnp", "w") as archive:
        archive.writestr("network.nntxt", text)
    (tmp_path / "bad.nnp").write_bytes(b"PK")
    (tmp_path / "bad-symbol.json").write_text("[1]")
    results = {result.file: result for result in command.scan([pathlib.Path(".")])}
    assert set(results) == {"net-symbol.json", "net.nntxt", "net.nnp", "bad.nnp", "bad-symbol.json"}
    found = results["net-symbol.json"]
    assert [(f.code, f.name) for f in found.findings] == [
        ("CG104", "mxnet operator NoSuchOp"),
        ("CG102", "mxnet operator _contrib_quantized_rnn"),
        ("CG104", "mxnet operator MyOp"),
    ]
    assert set(counts(found)) == {"mxnet operator Convolution", "mxnet operator _MulScalar", "mxnet operator _foreach"}
    assert counts(found, "unknown")["mxnet operator MyOp"] == 2 and found.findings[2].line > 10
    for name in ("net.nntxt", "net.nnp"):
        assert [(f.code, f.name) for f in results[name].findings] == [("CG104", "nnabla function Afine")]
        assert counts(results[name]) == {"nnabla function Affine": 1}
    assert [f.code for f in results["bad.nnp"].findings + results["bad-symbol.json"].findings] == ["CG311"] * 2


PROGRAM = "import chainer.functions as F\nimport mxnet.torch\nF.relu\nF.reluu\nF.absolute\n"


@pytest.fixture
def program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text(PROGRAM)
    (tmp_path / "src" / "other.py").write_text("import os\n")
    return tmp_path


def test_text(program, capsys):
    assert command.main(["src"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("src/train.py:2:8: CG101 missing: mxnet.torch: it needs a plugin for Lua's Torch")
    assert lines[1].startswith("src/train.py:4:1: CG104 unknown: chainer.functions.reluu: neither Chainer 7.8.1 nor")
    assert lines[3] == "Differs in some cases (--show all lists each use):"
    assert lines[4] == "  chainer.functions.absolute: 1 use, first at src/train.py:5:1"
    assert lines[5].startswith("    The case: second derivative of `absolute`. Chainer 7.8.1: None. compatgrad: zeros.")
    assert lines[7] == (
        "5 uses of 5 names in 1 of 2 files (6 lines): 2 same, 1 differs in some cases, 1 missing, 1 unknown."
    )
    coverage = "Coverage: compatgrad has 75.0% of the uses, and 75.0% of the names, that the original has."
    assert lines[8] == coverage and "1 unknown, 0 unresolved, 0 outside" in lines[9]
    assert lines[10] == "2 errors (1 where the original does more, 1 where it fails too), 0 warnings, 1 note."
    command.main(["src", "--show", "unknown"])
    assert "CG101" not in capsys.readouterr().out
    command.main(["src", "--show", "all", "--framework", "mxnet"])
    out = capsys.readouterr().out
    assert "CG101" in out and "chainer" not in out


def test_exit_status(program, capsys):
    assert command.main(["src/other.py"]) == 0
    assert command.main(["src", "--framework", "nnabla"]) == 0
    assert command.main(["src", "--framework", "chainer"]) == 1
    (pathlib.Path("src") / "private.py").write_text("import chainer\nchainer._no_such_name")
    assert command.main(["src/private.py"]) == 0
    assert command.main(["src/private.py", "--fail-on", "warning"]) == 1
    assert command.main(["src", "--fail-on", "never"]) == 0
    assert command.main(["src", "--exclude", "train.*"]) == 0
    assert command.main(["src", "--exclude", "src/t*"]) == 0
    capsys.readouterr()
    for wrong, said in [
        (["nowhere"], "no file or folder nowhere"),
        ([], "PATH"),
        (["src", "--jobs", "-1"], "--jobs: expected a number of processes, got -1"),
        (["src", "--baseline", "src/train.py"], "--baseline"),
        (["src", "--baseline", "nowhere.json"], "--baseline"),
        (["src", "--output", "nowhere/report"], "nowhere/report"),
        (["src", "--exclude", "*"], "no Python programs or notebooks in src"),
    ]:
        with pytest.raises(SystemExit) as caught:
            command.main(wrong)
        assert caught.value.code == 2 and said in capsys.readouterr().err


def test_json(program, capsys):
    assert command.main(["src", "--format", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["schema"] == 1 and report["tool"]["version"] == compatgrad.__version__
    assert report["summary"]["uses"] == {
        "same": 2, "differs": 1, "partial": 0, "missing": 1, "unknown": 1, "outside": 0,
    }  # fmt: skip
    assert report["summary"]["coverage"] == {"uses": 0.75, "names": 0.75}
    assert report["names"]["chainer.functions.relu"] == {"same": 1}
    first = report["findings"][0]
    assert (first["code"], first["file"], first["line"], first["column"]) == ("CG101", "src/train.py", 2, 8)
    assert report["files"][1] == {"file": "src/train.py", "lines": 5, "frameworks": ["chainer", "mxnet"], "uses": 5}


def test_sarif_and_github(program, capsys):
    command.main(["src", "--format", "sarif", "--output", "scan.sarif"])
    assert capsys.readouterr().out == ""
    (run,) = json.loads((program / "scan.sarif").read_text())["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [r["ruleId"] for r in run["results"]] == ["CG101", "CG104", "CG201"]
    assert all(rules[r["ruleIndex"]]["id"] == r["ruleId"] for r in run["results"])
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "src/train.py"
    assert place["region"] == {"startLine": 2, "endLine": 2, "startColumn": 8, "endColumn": 19}
    assert run["results"][0]["level"] == "error" and run["results"][2]["level"] == "note"
    command.main(["src", "--format", "github"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("::error file=src/train.py,line=2,endLine=2,col=8,endColumn=19,title=CG101 missing-")
    assert len(lines) == 2 and "::missing: mxnet.torch: it needs" in lines[0]


def test_a_baseline(program, capsys):
    assert command.main(["src", "--write-baseline", "base.json"]) == 0
    assert command.main(["src", "--baseline", "base.json"]) == 0
    assert "3 findings of the baseline not shown." in capsys.readouterr().out
    # other lines may change, and the line itself may move; a new finding counts
    train = program / "src" / "train.py"
    train.write_text("# a new line\n" + PROGRAM.replace("F.relu\n", "F.elu\n"))
    assert command.main(["src", "--baseline", "base.json"]) == 0
    train.write_text(PROGRAM + "import mxnet.notebook\n")
    capsys.readouterr()
    assert command.main(["src", "--baseline", "base.json"]) == 1
    assert "train.py:6:8: CG101 missing: mxnet.notebook" in capsys.readouterr().out


def test_the_command_line_starts_without_torch(program):
    code = "import sys, runpy; sys.argv[1:] = ['scan', 'src', '--fail-on', 'never']\n"
    code += "try: runpy.run_module('compatgrad', run_name='__main__')\n"
    code += (
        "except SystemExit as e: assert not e.code\nassert 'torch' not in sys.modules and 'numpy' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and "5 uses of 5 names" in done.stdout, done.stderr


def test_several_processes_and_links(program):
    (program / "src" / "above").symlink_to(program)
    (program / "src" / ".git").mkdir()
    (program / "src" / ".git" / "hook.py").write_text("import chainer")
    (program / "src" / "env" / "site-packages").mkdir(parents=True)
    (program / "src" / "env" / "site-packages" / "library.py").write_text("import chainer")
    (program / "src" / "tool").write_text("#!/usr/bin/env python\nimport chainer\n")
    for i in range(20):
        (program / "src" / f"copy{i}.py").write_text(PROGRAM)
    one = command.scan([program, program / "src"], jobs=1)
    assert one == command.scan([program], jobs=2) and len(one) == 23


def test_speed(tmp_path):
    """At least 5,000 lines a second, of processor time."""
    text = (pathlib.Path(__file__).parents[2] / "examples" / "chainer" / "train_digits_mlp.py").read_text()
    for i in range(100):
        (tmp_path / f"{i}.py").write_text(text)
    command.scan([tmp_path / "0.py"])  # reads the names
    start = time.process_time()
    results = command.scan([tmp_path], jobs=1)
    lines = sum(result.lines for result in results)
    assert lines > 4000 and lines / (time.process_time() - start) > 5000
