"""What the documents name is there: files, folders, other documents."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "tests/programs/README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").glob("*/README.md")),
]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_links(document):
    """Pages that the site generates do not exist here; the links to them are checked where it is built."""
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text()):
        target = (document.parent / link).resolve()
        generated = any(target.is_relative_to(ROOT / "docs" / folder) for folder in ("reference", "support"))
        assert "://" in link or generated or target.exists(), link


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_paths(document):
    """Files of the project in backticks; those of other projects do not begin with one of its folders."""
    missing = []
    for path in re.findall(r"`((?:\.ci|compatgrad|csrc|docs|tests)/[\w./-]*\w)`", document.read_text()):
        if (
            not (ROOT / path).exists()
            and "NAME" not in path
            and "log_cosh" not in path  # the example of CONTRIBUTING.md, which does not stay
            and not path.startswith(("tests/datasets", "tests/unittest"))
        ):
            missing.append(path)
    assert missing == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_rows_of_tables(document):
    """Each row has as many cells as the head of its table; two rows on one line have twice as many."""
    cells = None
    for line in re.sub(r"```.*?```", "", document.read_text(), flags=re.S).splitlines():
        bars = re.sub(r"`[^`]*`", "", line).replace("\\|", "").count("|") if line.startswith("|") else None
        assert None in (bars, cells) or bars == cells, line
        cells = bars


def test_the_readme_names_every_document():
    """The README names the pages directly in docs/, the index of the site names all pages."""
    text = (ROOT / "README.md").read_text()
    assert [d.name for d in sorted((ROOT / "docs").glob("*.md")) if f"(docs/{d.name})" not in text] == []
    listed = re.findall(r"^(?:.* <)?([\w/.-]+?)>?$", (ROOT / "docs/index.md").read_text(), re.M)
    pages = [d.relative_to(ROOT / "docs").with_suffix("").as_posix() for d in (ROOT / "docs").rglob("*.md")]
    assert sorted(set(pages) - {*listed, "index"}) == []


def figure(document, pattern):
    (found,) = re.findall(pattern, (ROOT / document).read_text())
    return int(found.replace(",", "")) if found[0].isdigit() else WORDS.index(found.lower())


WORDS = ["none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


@pytest.mark.parametrize("folder", ["chainer", "mixed", "mxnet", "nnabla"])
def test_number_of_examples(folder):
    programs = [p for p in (ROOT / "examples" / folder).glob("*_*.py")]
    assert figure("README.md", rf"(\w+)\s+programs\s+are\s+in\s+\[examples/{folder}\]") == len(programs)
    table = re.findall(r"^\| `(\w+\.py)` \|", (ROOT / "examples" / folder / "README.md").read_text(), re.M)
    assert sorted(table) == sorted(p.name for p in programs)


def test_update_rules_of_the_kernels():
    from compatgrad import _C

    text = (ROOT / "docs/kernels.md").read_text()
    rows = re.search(r"### Steps of optimizers\n(.*?)\n### ", text, re.S)[1]
    assert figure("docs/kernels.md", r"The (\d+) rules are kernels") == len(_C.optim_rules())
    assert [rule for rule in _C.optim_rules() if f"`{rule}`" not in rows] == []


def test_public_programs():
    listed = json.loads((ROOT / "tests/programs/programs.json").read_text())
    frontends = [program["frontend"] for program in listed]
    assert len(listed) == 60 and {frontends.count(name) for name in ("chainer", "nnabla", "mxnet")} == {20}
    text = (ROOT / "tests/programs/README.md").read_text()
    assert "a list of sixty public code bases, twenty for each frontend" in text
    rows = [row for row in re.findall(r"^\| (\w[\w-]+) \|", text, re.M) if row != "program"]
    names = {program["name"] for program in listed}
    assert [row for row in rows if row not in names] == []
    missing = {f: sum(p["name"] not in rows for p in listed if p["frontend"] == f) for f in ("nnabla", "mxnet")}
    assert f"{WORDS[missing['nnabla']]} of nnabla and {WORDS[missing['mxnet']]} of MXNet" in text


def test_totals_of_the_conformance_tables():
    """Each row "all" is the sum of the rows above it."""
    rows, totals = [], 0
    for line in (ROOT / "docs/conformance.md").read_text().splitlines():
        cells = [cell.strip().strip("*").replace(",", "") for cell in line.strip("|").split("|")]
        numbers = [re.match(r"\d+", cell) for cell in cells[1:3]]
        if not line.startswith("|"):
            rows = rows if line else []
        elif len(cells) > 3 and all(numbers):
            pair = [int(number[0]) for number in numbers]
            if line.startswith("| **"):
                assert pair == [sum(column) for column in zip(*rows, strict=True)], line
                totals += 1
            else:
                rows.append(pair)
    assert totals >= 7
