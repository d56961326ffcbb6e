"""Every public name of the originals exists here with its parameters and defaults, or a file says why it does not."""

import warnings

import pytest

from compatgrad.names import database
from tests.census import names, private, reasons
from tests.census.compare import FRONTENDS, Comparison, parameter_differences
from tests.census.walk import parameters


@pytest.fixture(scope="module")
def differences():
    return reasons.differences(list(FRONTENDS))


@pytest.mark.parametrize("frontend", FRONTENDS)
def test_names(differences, frontend):
    unexplained, stale = reasons.Reasons.read(frontend).judge(differences[frontend])
    assert not unexplained, f"no reason in reasons_{frontend}.txt; mend them, or run `python -m tests.census --update`"
    if stale:
        warnings.warn(f"{len(stale)} lines no longer apply: `python -m tests.census --update` drops them", stacklevel=1)


def test_names_outside_the_api():
    """Programs import them, so code that moves to another module must leave its names in the old one."""
    names = private.read()
    assert len(names) > 500 and "_is_shape" in names["chainer.link"]
    assert private.lost(names) == []
    assert private.lost({"chainer.link": ["Link", "_gone"]}) == ["chainer.link:_gone"]


def differ(theirs, ours):
    return parameter_differences(parameters(theirs), parameters(ours))


def test_parameters():
    def original(x, axis=None, *, keepdims=False):
        pass

    assert differ(original, original) == []
    assert differ(original, lambda x, axis=None, *, keepdims=False, more=0: x) == []
    assert differ(original, lambda x, keepdims=False, axis=None: x) == [("axis", "at place 1, here 2")]
    assert differ(original, lambda x, *, axis=None, keepdims=True: x) == [
        ("axis", "by keyword only here"),
        ("keepdims", "default False, here True"),
    ]
    assert differ(original, lambda x, axis, **rest: x) == [
        ("axis", "default None, here required"),
        ("keepdims", "only among further keywords"),
    ]
    assert differ(original, lambda a, axis=None, *, keepdims=False: a) == [
        ("x", "absent"),
        ("a", "required here, not there"),
    ]
    assert differ(original, lambda *args, **kwargs: args) == [("...", "parameters not named here")]
    assert differ(lambda *args, **kwargs: args, original) == []
    assert differ(lambda x=[1], *y: x, lambda x=(1,), y=0: x) == [("y", "no further arguments by place")]


class Original:
    def __init__(self, a, b=1):
        pass

    def method(self, x):
        pass

    @property
    def size(self):
        return 0


class Same:
    def __init__(self, a, b=2):
        pass

    def method(data, y):
        pass

    def size(self):
        return 0


def test_classes():
    theirs = [
        "class",
        [["a", "a"], ["b", "a", "1"]],
        {"method": ["function", [["self", "a"], ["x", "a"]]], "size": ["property"], "gone": ["property"]},
    ]
    comparison = Comparison({"modules": {}})
    comparison._entry(Original, "m.C", theirs)
    assert comparison.lines == ["m.C.gone: absent"]
    comparison.lines.clear()
    comparison._entry(Same, "m.C", theirs)
    assert comparison.lines == [
        "m.C(b): default 1, here 2",
        "m.C.method(x): absent",
        "m.C.method(y): required here, not there",
        "m.C.size: a property, here a function",
        "m.C.gone: absent",
    ]


def test_absent_modules_and_names():
    census = {
        "modules": {
            "json": {"dumps": ["function", None], "gone": ["value", "1", "int"]},
            "no_such_package": {},
            "no_such_package.module": {"name": ["function", None]},
        }
    }
    assert Comparison(census).run() == ["json.gone: absent", "no_such_package: absent"]


def test_reasons(tmp_path):
    pending = reasons.PENDING
    lines = ["# text", "", "m.f(x): absent\tbecause", "m.g(*): absent\tanother"]
    absences = ["# names", "m.h\tit is old\tm.f", f"n\t{pending}"]
    table = tmp_path / "absent.txt"
    found = reasons.Reasons(lines, tmp_path / "reasons.txt", absences, table)
    assert found.of("m.g(x): absent") == "another" and found.of("m.k: absent") is None
    assert found.of("m.h: absent") == "it is old"
    assert found.of("n.deep.name(x): default 1, here 2") == pending
    differences = ["m.f(x): absent", "m.h: absent", "m.k: absent", "m.k(y): absent"]
    assert found.judge(differences) == (["m.k: absent", "m.k(y): absent"], ["n: absent", "m.g(*): absent"])
    found.update(differences)
    assert found.path.read_text().splitlines() == [
        "# text",
        "",
        "m.f(x): absent\tbecause",
        f"m.k(y): absent\t{pending}",
    ]
    assert table.read_text().splitlines() == ["# names", "m.h\tit is old\tm.f", f"m.k\t{pending}"]
    with pytest.raises(ValueError, match="names one"):
        reasons.Reasons([f"m.*(x): absent\t{pending}"])
    with pytest.raises(ValueError, match="names one"):
        reasons.Reasons([], None, [f"m.*\t{pending}"])
    with pytest.raises(ValueError, match="a tab"):
        reasons.Reasons(["m.f(x): absent because"])
    with pytest.raises(ValueError, match="a tab"):
        reasons.Reasons([], None, ["m.f because"])
    with pytest.raises(ValueError, match="belong to the tables"):
        reasons.Reasons(["m.f: absent\tbecause"])


def test_frontends_that_are_not_there(capsys, monkeypatch):
    from tests.census import __main__

    monkeypatch.setattr("sys.argv", ["census", "jax"])
    with pytest.raises(SystemExit):
        __main__.main()
    assert "no frontend: jax; there are chainer, nnabla, mxnet" in capsys.readouterr().err


def test_versions_in_which_names_came():
    before = {"modules": {"m": {"f": ["f", None], "g": ["F"]}}, "members": {}, "since": {"m.f": "0.2.0"}}
    now = {"modules": {"m": {"f": ["f", None], "g": ["f", None], "h": ["F"]}}, "members": {"m.C": {"x": ["p"]}}}
    assert names.since(before, now, "0.3.0") == {"m.f": "0.2.0", "m.g": "0.3.0", "m.C.x": "0.3.0"}
    assert names.since(before, now, database.FIRST) == {"m.f": "0.2.0"}
    assert names.since(None, now, "0.3.0") == {}
