"""`import chainer` answered by compatgrad's frontend, and nothing else touched."""

import pytest

INSTALLED = "import compatgrad, sys; compatgrad.install('chainer')\n"


def test_both_names_mean_the_same_modules(tree):
    code = INSTALLED + (
        "import compatgrad.chainer.functions.activation as early\n"
        "import chainer, chainer.functions.activation.relu as legacy\n"
        "import compatgrad.chainer.functions.activation.relu as own\n"
        "assert legacy is own and early is chainer.functions.activation\n"
        "assert compatgrad.chainer is chainer is chainer.itself\n"
        "assert own.__name__ == own.__spec__.name == 'chainer.functions.activation.relu'\n"
        "for name, module in list(sys.modules.items()):\n"
        "    if name.startswith('compatgrad.chainer'):\n"
        "        assert sys.modules[name.partition('.')[2]] is module, name\n"
        "        assert module.__name__ == module.__spec__.name == name.partition('.')[2], name\n"
        "import importlib; assert importlib.reload(own) is legacy\n"
        "print(chainer.Linear.__module__, legacy.relu.__module__)\n"
    )
    assert tree.output(code) == "chainer.links.connection.linear chainer.functions.activation.relu\n"


@pytest.mark.parametrize("first", ["chainer", "compatgrad.chainer", "compatgrad.chainer.links.connection.linear"])
def test_any_name_may_come_first(tree, first):
    code = INSTALLED + (
        f"import {first}\nimport chainer\n"
        "from compatgrad import chainer as own\n"
        "assert own is chainer\nprint(chainer.Linear().later())"
    )
    assert tree.output(code) == "chainer.links.connection.rarely\n"


def test_pickles_say_the_legacy_name(tree):
    code = INSTALLED + (
        "import pickle, chainer\n"
        "data = pickle.dumps([chainer.Linear(), chainer.Linear.State(), chainer.functions.relu], 0)\n"
        "print(b'compatgrad' in data, b'cchainer.links.connection.linear' in data, len(pickle.loads(data)))"
    )
    assert tree.output(code) == "False True 3\n"


def test_chainerx_is_there_as_with_the_original(tree):
    assert tree.output(INSTALLED + "import chainerx; print(chainerx.is_available(), chainerx.__name__)") == (
        "False chainerx\n"
    )


def test_without_it_the_frontend_keeps_its_own_name(tree):
    code = """
        import sys, compatgrad.chainer as c
        print(c.Linear.__module__, 'chainer' in sys.modules)
        try:
            import chainer
        except ModuleNotFoundError as error:
            print(error.name)
        """
    assert tree.output(code) == "compatgrad.chainer.links.connection.linear False\nchainer\n"


def test_install_after_import_and_uninstall(tree):
    code = """
        import pickle, sys, compatgrad, compatgrad.chainer as own
        link = own.Linear()
        compatgrad.install("chainer")
        import chainer
        assert chainer is own and chainer.links.connection.linear.Linear is type(link)
        kinds = chainer.Linear, chainer.Linear.State
        assert [kind.__module__ for kind in kinds] == 2 * ["chainer.links.connection.linear"]
        compatgrad.install("chainer")
        compatgrad.uninstall("chainer")
        assert not [name for name in sys.modules if name.partition(".")[0] == "chainer"]
        assert own is compatgrad.chainer is sys.modules["compatgrad.chainer"]
        assert type(pickle.loads(pickle.dumps(link))) is type(link)
        print(link.later(), own.Linear.State.__module__, own.__spec__.parent, sep="\\n")
        compatgrad.uninstall("chainer")
        try:
            import chainer
        except ModuleNotFoundError:
            print("gone", [finder for finder in sys.meta_path if "compatgrad" in type(finder).__module__])
        """
    assert tree.output(code) == (
        "compatgrad.chainer.links.connection.rarely\n"
        "compatgrad.chainer.links.connection.linear\n"
        "compatgrad.chainer\n"
        "gone []\n"
    )


@pytest.mark.parametrize("first", ["compatgrad.chainer", "chainer"])
def test_modules_without_a_file(tree, first):
    """mxnet.symbol.op and its like are made when their package is imported."""
    made = "import sys, types\nop = sys.modules[__name__ + '.op'] = types.ModuleType(__name__ + '.op')\n"
    tree.write("site/compatgrad/chainer/functions/__init__.py", made + "op.relu = max\n")
    code = """
        import compatgrad
        if FIRST == "chainer":
            compatgrad.install("chainer")
        own = __import__(FIRST + ".functions", fromlist=["op"]).op
        compatgrad.install("chainer")
        import chainer.functions.op, compatgrad.chainer.functions.op
        assert own is chainer.functions.op is compatgrad.chainer.functions.op
        names = [own.__name__]
        compatgrad.uninstall("chainer")
        print(*names, own.__name__, own is compatgrad.chainer.functions.op)
        """
    assert tree.output(code.replace("FIRST", repr(first))) == (
        "chainer.functions.op compatgrad.chainer.functions.op True\n"
    )


def test_it_wins_over_an_installed_original_but_not_over_an_imported_one(tree):
    tree.write("chainer.py", "print('original')\n")
    assert tree.output(INSTALLED + "import chainer; print(chainer.Linear.__name__)") == "Linear\n"
    done = tree.python("-c", "import chainer\n" + INSTALLED)
    assert done.returncode == 1
    assert "RuntimeError: chainer is already imported, from" in done.stderr


def test_errors_name_what_was_asked_for(tree):
    code = (
        INSTALLED
        + """
for name in ("chainer.absent", "compatgrad.chainer.absent", "chainer.links.connection.broken"):
    try:
        __import__(name)
    except Exception as error:
        print(type(error).__name__, error, name in sys.modules)
__import__("sys").path.clear()
try:
    compatgrad.install("keras")
except ValueError as error:
    print(error)
"""
    )
    assert tree.output(code) == (
        "ModuleNotFoundError No module named 'chainer.absent' False\n"
        "ModuleNotFoundError No module named 'compatgrad.chainer.absent' False\n"
        "ZeroDivisionError division by zero False\n"
        "no frontend named 'keras'; there are: chainer\n"
    )


def test_nothing_else_is_touched(tree):
    code = """
        import builtins, os, sys
        def state():
            return dict(os.environ), list(sys.path), list(sys.path_hooks), dict(vars(builtins))
        before = state()
        import compatgrad
        compatgrad.install()
        print(state() == before, {"torch", "numpy"} & set(sys.modules))
        """
    assert tree.output(code) == "True set()\n"


def test_notebook_extension(tree):
    code = """
        import compatgrad
        compatgrad.load_ipython_extension(None)
        import chainer
        compatgrad.unload_ipython_extension(None)
        print(chainer.__name__)
        """
    assert tree.output(code) == "compatgrad.chainer\n"
