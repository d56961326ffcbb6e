"""`python -m compatgrad run` beside plain `python`: the program must not see a difference."""

import re
import signal
import sys

import pytest

FACTS = """
    import os, sys
    print("argv", sys.argv)
    print("path", sys.path)
    main = sys.modules["__main__"]
    print("main", main.__dict__ is globals(), __name__, main.__dict__.get("__file__"), main.__package__)
    print("loader", type(__loader__).__name__, "spec", getattr(__spec__, "name", None))
    print("names", sorted(set(globals()) - {"main", "os", "sys"}))
    """


def same(tree, *arguments, **options):
    """Runs both ways, checks that all that is seen from outside agrees, and returns the plain run."""
    plain = tree.python(*arguments, **options)
    ours = tree.run(*arguments, **options)
    assert (ours.returncode, ours.stdout) == (plain.returncode, plain.stdout), ours.stderr
    assert ours.stderr == plain.stderr
    return plain


@pytest.mark.parametrize("script", ["scripts/facts.py", "./scripts/facts.py", "{folder}/facts.py", "link.py"])
def test_a_script_sees_what_it_would_see(tree, script):
    target = tree.write("scripts/facts.py", FACTS)
    (tree.folder / "link.py").symlink_to(target)
    done = same(tree, script.format(folder=target.parent), "--help", "-c", "x y", "--", "-m")
    assert "'--help', '-c', 'x y', '--', '-m'" in done.stdout


def test_a_folder_and_a_module_see_what_they_would_see(tree):
    tree.write("program/__main__.py", FACTS)
    tree.write("package/__init__.py", "")
    tree.write("package/tool.py", FACTS)
    same(tree, "./program", "1")
    same(tree, "-m", "package.tool", "-m", "2")
    same(tree, "-mpackage.tool")
    same(tree, "-m", "program")


def test_code_sees_what_it_would_see(tree):
    code = "import sys; print(sys.argv, sys.path[0] == '', __name__, '__file__' in globals())"
    assert same(tree, "-c", code, "-x", "y").stdout == "['-c', '-x', 'y'] True __main__ False\n"


@pytest.mark.parametrize("ending", ["", "1 / 0", "x = ("])
def test_a_program_on_standard_input_sees_what_it_would_see(tree, ending):
    code = f"# é\nimport sys\nprint(sys.argv, sys.path[0] == '', __name__, __file__)\n{ending}"
    done = same(tree, "-", "-x", "y", stdin=code)
    assert done.stdout == ("" if "(" in ending else "['-', '-x', 'y'] True __main__ <stdin>\n")


@pytest.mark.parametrize(
    "ending, code",
    [
        ("pass", 0),
        ("import sys; sys.exit(7)", 7),
        ("import sys; sys.exit('sorry')", 1),
        ("raise SystemExit", 0),
        ("import os; os._exit(9)", 9),
        ("1 / 0", 1),
        ("raise KeyboardInterrupt", -signal.SIGINT),
        ("import atexit; atexit.register(print, 'end'); 1 / 0", 1),
        ("import sys; sys.excepthook = lambda *a: print('hook', a[0].__name__, a[1]); 1 / 0", 1),
        ("import threading; threading.Thread(target=lambda: 1 / 0).start()", 0),
    ],
)
def test_exit_codes_and_last_words(tree, ending, code):
    tree.write("script.py", ending)
    done = tree.python("script.py"), tree.run("script.py")
    assert [one.returncode for one in done] == [code, code]
    plain, ours = (re.sub(r"0x\w+|Thread-\d+", "", one.stdout + one.stderr) for one in done)
    assert ours == plain


def test_tracebacks_hold_no_frame_of_ours(tree):
    tree.write(
        "script.py",
        """
        def inner():
            raise ValueError("inner")

        def outer():
            try:
                inner()
            except ValueError:
                raise KeyError("outer")

        outer()
        """,
    )
    tree.write("broken.py", "def f(:\n")
    assert same(tree, "script.py").stderr.count("script.py") == 4
    assert "compatgrad" not in same(tree, "broken.py").stderr
    assert "compatgrad" not in same(tree, "-m", "script").stderr
    assert "compatgrad" not in same(tree, "-m", "broken").stderr


def test_what_is_not_there_is_reported_as_python_does(tree):
    assert tree.run("absent.py").returncode == tree.python("absent.py").returncode == 2
    assert "can't open file" in tree.run("absent.py").stderr
    assert "No module named absent" in same(tree, "-m", "absent").stderr


@pytest.mark.parametrize("arguments, text", [((), "name a script"), (("-m",), "-m needs"), (("-x",), "option -x")])
def test_usage_errors(tree, arguments, text):
    done = tree.run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert text in done.stderr and len(done.stderr.splitlines()) == 1


def test_flags_of_python_hold(tree):
    tree.write("script.py", "import sys; print(sys.flags.optimize, sys.flags.utf8_mode); assert False\n")
    assert same(tree, "script.py", flags=("-O", "-X", "utf8")).stdout == "1 1\n"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="new in Python 3.11")
def test_safe_path_holds(tree):
    tree.write("scripts/facts.py", FACTS)
    same(tree, "scripts/facts.py", flags=("-P",))


def test_a_script_with_an_encoding_and_a_future(tree):
    text = """# coding: latin-1
from __future__ import annotations
def f(x: absent): pass
print('\xe9' == chr(233))
"""
    (tree.folder / "script.py").write_bytes(text.encode("latin-1"))
    assert same(tree, "script.py").stdout == "True\n"


def test_classes_of_the_script_pickle(tree):
    tree.write(
        "script.py",
        """
        import pickle
        class Mine:
            pass
        print(type(pickle.loads(pickle.dumps(Mine()))) is Mine, Mine.__module__)
        """,
    )
    assert same(tree, "script.py").stdout == "True __main__\n"


@pytest.mark.parametrize("how", ["script.py", "-m"])
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_worker_processes_import_chainer_too(tree, method, how):
    tree.write(
        "script.py",
        f"""
        import multiprocessing, chainer

        class Item:
            link = chainer.Linear

        def work(item):
            return type(item).__name__, item.link.__module__, chainer.itself.__name__

        if __name__ == "__main__":
            with multiprocessing.get_context({method!r}).Pool(1) as pool:
                print(pool.map(work, [Item()]))
        """,
    )
    arguments = ["-m", "script"] if how == "-m" else [how]
    done = tree.run(*arguments)
    assert done.stdout == "[('Item', 'chainer.links.connection.linear', 'chainer')]\n", done.stderr


def test_help_and_version(tree):
    for arguments in (["--help"], []):
        done = tree.python("-m", "compatgrad", *arguments)
        assert done.returncode == 0 and "  run  " in done.stdout
    assert "run -m MODULE" in tree.python("-m", "compatgrad", "run", "--help").stdout
    assert re.fullmatch(r"compatgrad \d+\.\d+\.\d+\n", tree.python("-m", "compatgrad", "--version").stdout)
    assert tree.python("-m", "compatgrad", "fly").returncode == 2
