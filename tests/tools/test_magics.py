"""`%load_ext compatgrad` and the magics, in a shell that has what they use of IPython's."""

import re
import sys
import textwrap

import pytest

import compatgrad
from compatgrad.tools import notebook


class Shell:
    """A notebook: variables, magics, and cells in which `!` and `%` are IPython's."""

    def __init__(self):
        self.user_ns = {"__name__": "__main__"}
        self.magics = {"line": {}, "cell": {}}
        self.magics_manager = self

    def register_magic_function(self, function, magic_kind="line", magic_name=None):
        assert magic_kind == "line_cell"
        for kind in ("line", "cell"):
            self.magics[kind][magic_name] = function

    def transform_cell(self, cell):
        return "".join(f"print({line[1:]!r})\n" if line.startswith("!") else line + "\n" for line in cell.splitlines())

    def line(self, name, line=""):
        return self.magics["line"][name](line)

    def cell(self, name, line, cell):
        return self.magics["cell"][name](line, textwrap.dedent(cell))


@pytest.fixture
def shell():
    made = Shell()
    notebook.load_ipython_extension(made)
    yield made
    notebook.unload_ipython_extension(made)
    assert made.magics == {"line": {}, "cell": {}} and "chainer" not in sys.modules


TRAINING = """
    !first line
    import numpy as np
    import chainer, chainer.functions as F, chainer.links as L
    link = L.Linear(3, 2)
    optimizer = chainer.optimizers.SGD().setup(link)
    for _ in range(40):
        loss = F.sum(link(np.ones((4, 3), np.float32)) ** 2)
        link.cleargrads()
        loss.backward()
        optimizer.update()
    """


def test_the_extension_is_compatgrad_s(shell):
    assert compatgrad.load_ipython_extension is notebook.load_ipython_extension
    import chainer

    assert chainer.__name__ == "chainer" and "compatgrad" in chainer.__file__
    assert set(shell.magics["cell"]) == {"compatgrad_report", "compatgrad_profile", "compatgrad_verify"}


def test_profile_of_a_cell(shell, capsys):
    found = shell.cell("compatgrad_profile", "--steps 3 --warmup 2 --by line", TRAINING)
    assert capsys.readouterr().out == "first line\n"
    shown = repr(found)
    assert "3 steps, which end with SGD.update" in shown
    assert re.search(r"<cell \d+>:8  loss = F\.sum\(link\(np\.ones", shown), shown
    assert found._repr_html_().startswith("<iframe srcdoc=") and "<html" not in found._repr_html_()
    assert shell.user_ns["optimizer"].t == 40  # the variables are the notebook's, and the cell ran to its end
    more = TRAINING[TRAINING.index("    for") :]
    found = shell.cell("compatgrad_profile", "--steps 2 --warmup 1 --by layer --stop", more)
    assert "Linear" in repr(found) and 40 < shell.user_ns["optimizer"].t < 80


def test_profile_of_a_cell_with_an_error_or_without_steps(shell, capsys):
    with pytest.raises(ZeroDivisionError):
        shell.cell("compatgrad_profile", "", "1 / 0")
    assert shell.cell("compatgrad_profile", "", "x = 3") is None
    assert "no step was seen" in capsys.readouterr().err
    assert shell.cell("compatgrad_profile", "--against python", "x = 4") is None
    assert "--against is for programs" in capsys.readouterr().err and shell.user_ns["x"] == 3
    assert shell.cell("compatgrad_profile", "--by colour", "x = 4") is None
    assert "invalid choice: 'colour'" in capsys.readouterr().err


def test_report_since_the_first_call_and_of_a_cell(shell, capsys):
    assert shell.line("compatgrad_report") is None
    assert "begins here" in capsys.readouterr().out
    exec("import numpy as np, chainer.functions as F; F.tanh(np.ones(3, 'f'))", shell.user_ns)
    assert "Its only operator call" in str(shell.line("compatgrad_report"))
    assert "Its only operator call" in str(shell.line("compatgrad_report", "stop"))
    cell = "import numpy as np, chainer.functions as F\nfor _ in range(3): F.exp(np.ones(3, 'f'))\n"
    assert "3 operator calls" in str(shell.cell("compatgrad_report", "", cell))
    assert shell.line("compatgrad_report", "stpo") is None
    assert "expected nothing or stop, got 'stpo'" in capsys.readouterr().err


def test_commands_run_in_a_process_of_their_own(shell, capfd, tmp_path):
    assert shell.line("compatgrad_profile", "--steps 0 -- x.py") is None
    assert "expected a positive number" in capfd.readouterr().out
    assert shell.cell("compatgrad_verify", "--original /no/python", "print(1)\n") is None
    assert "/no/python" in capfd.readouterr().out
