"""The pages that the site generates: each public name has a description, each name of an original a row."""

import re

import pytest

from compatgrad.names import database, table
from tests.docs.site import check, markdown, pages, reference, support

ENTRY = re.compile(r"^`+\{py:(?:function|class|data)\} (\w+)(?:\(.*)?\n:module: ([\w.]+)$", re.M)


@pytest.fixture(scope="module")
def described():
    return reference.pages()


def names_on(texts):
    return [f"{module}.{name}" for text in texts for name, module in ENTRY.findall(text)]


def test_every_name_of_the_native_api_and_of_interop_is_described(described):
    wanted = {**reference.native(), **reference.ops(), **reference.interop()}
    found = names_on([described[page] for page in ("compatgrad", "ops", "interop")])
    assert sorted(found) == sorted(wanted)
    assert len(wanted) > 380


def test_every_command_is_described(described):
    for name, text in reference.commands().items():
        assert f"## {name}\n" in described["commands"] and text.startswith("usage: python -m compatgrad"), name


@pytest.mark.parametrize("package", reference.FRONTENDS)
def test_every_name_of_a_frontend_is_described_once(described, package):
    found = names_on([text for page, text in described.items() if page.startswith(f"{package}/")])
    assert sorted(found) == sorted(reference.frontend(package))


@pytest.mark.parametrize("frontend", table.ORIGINALS)
def test_every_name_of_an_original_has_a_row(frontend):
    rows = [
        row
        for page, text in support.pages().items()
        if page.startswith(f"{frontend}/")
        for row in re.findall(r"^\| `([\w.]+)` \| (supported|differs|absent) \|", text, re.M)
    ]
    found = dict(rows)
    assert len(found) == len(rows)
    for module, names in database.read(frontend)["modules"].items():
        for name, (letter, *_) in names.items():
            if letter in "acfvACFV" and not name.startswith("_"):
                assert (found[f"{module}.{name}"] == "absent") == letter.isupper(), name
    for name, _, row in database.absences(frontend):
        kind = database.kind_of(name)
        assert kind == "module" or name.rpartition(".")[2].startswith("_") or found.get(name) == "absent", (name, row)


def test_docstrings_become_markdown():
    text = """Adds a*b_c to `x*y`.

    Args:
        x: a number, or
            several.
        *args: more <numbers>.

    Example:
        >>> 1 + 1
        2

    Source: `a.py`.
    """
    assert markdown.docstring(text) == (
        "Adds a\\*b\\_c to `x*y`.\n\n"
        "**Arguments**\n\n"
        "- **x**: a number, or several.\n"
        "- **\\*args**: more \\<numbers\\>.\n\n"
        "**Example**\n\n"
        "```pycon\n>>> 1 + 1\n2\n```\n\n"
        "**Source**: `a.py`."
    )


def test_links_lead_to_pages_of_the_site():
    assert "[examples/chainer](examples/chainer.md)" in pages.text("README.md")
    assert "[docs/tools.md](tools.md)" in pages.text("README.md")
    assert "[examples/mixed](examples/mixed.md)" in pages.text("docs/mixing.md")
    # a file that is no page
    assert "](LICENSE)" not in pages.text("README.md")


def test_dead_links_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<p id="here"></p><a href="#here">1</a><a href="b.html#there">2</a><a href="https://example.org/x">3</a>'
        '<a href="#gone">4</a><a href="b.html#gone">5</a><a class="x" href="c.html">6</a><img src="d.svg">'
        '<script src="https://example.org/y.js"></script>'
    )
    (tmp_path / "b.html").write_text('<p id="there"></p>')
    assert check.dead_links(tmp_path) == [
        "a.html: #gone has no such place",
        "a.html: b.html#gone has no such place",
        "a.html: c.html is no file",
        "a.html: d.svg is no file",
        "a.html loads https://example.org/y.js",
    ]
