"""What the documents name is there: files, folders, other documents."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("", "csrc", "csrc/core", "csrc/ops", "csrc/kernels", "csrc/python", "tests/golden", "tests/programs/drivers")
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "tests/programs/README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "examples").glob("*/README.md")),
]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_links(document):
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text()):
        assert "://" in link or (document.parent / link).exists(), link


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_paths(document):
    """Files of the project in backticks; those of other projects do not begin with one of its folders."""
    missing = []
    for path in re.findall(r"`((?:\.ci|compatgrad|csrc|docs|tests)/[\w./-]*\w)`", document.read_text()):
        if (
            not (ROOT / path).exists()
            and "NAME" not in path
            and not path.startswith(("tests/datasets", "tests/unittest"))
        ):
            missing.append(path)
    assert missing == []


def test_the_readme_names_every_document():
    text = (ROOT / "README.md").read_text()
    assert [d.name for d in sorted((ROOT / "docs").glob("*.md")) if f"(docs/{d.name})" not in text] == []
