"""Files that are compiled together: `csrc/units.txt`."""

import re
from pathlib import Path

from compatgrad._build.target import source_files, source_root
from compatgrad._build.units import units_of
from tests.packaging.test_build import compiled

TABLE = """\
# a comment
both: core/*.cpp ops/o*.cpp
none: absent/*.cpp
"""


def use_units(checkout, text: str = TABLE) -> None:
    """Groups files of the checkout."""
    checkout.write("site/csrc/units.txt", text)


def test_every_source_file_is_in_one_unit():
    root = source_root()
    patterns = [
        word
        for line in (root / "csrc/units.txt").read_text().splitlines()
        if not line.startswith("#")
        for word in line.split()[1:]
    ]
    files = source_files(root)
    names = [path.relative_to("csrc").as_posix() for path in files]
    assert [pattern for pattern in patterns if not any(Path(name).match(pattern) for name in names)] == []
    units = units_of(root, files)
    assert sorted(path for unit in units for path in unit.files) == sorted(files)
    assert [str(unit) for unit in units if len(unit.files) == 1] == []
    assert len({unit.object_name() for unit in units}) == len(units)


def test_a_unit_is_compiled_at_once(checkout):
    use_units(checkout)
    first = checkout.build()
    assert compiled(first) == ["both", "csrc/python/module.cpp"], first.stderr
    assert "compiling 3 of 3 files" in first.stderr and "both (2 files)" in first.stderr
    assert compiled(checkout.build()) == []
    checkout.write("site/csrc/ops/other.cpp", "int other() { return 2; }\n")
    assert compiled(checkout.build()) == ["both"]
    checkout.write("site/csrc/core/answer.h", "int answer();  // edited\n")
    assert compiled(checkout.build()) == ["both", "csrc/python/module.cpp"]


def test_a_unit_is_compiled_again_if_it_has_other_files(checkout):
    use_units(checkout)
    checkout.build()
    checkout.write("site/csrc/ops/one_more.cpp", "int one_more() { return 1; }\n")
    done = checkout.build()
    assert compiled(done) == ["both"] and "both (3 files)" in done.stderr
    (checkout.root / "csrc/ops/one_more.cpp").unlink()
    assert compiled(checkout.build()) == ["both"]
    use_units(checkout, TABLE.replace(" ops/o*.cpp", ""))
    assert compiled(checkout.build()) == ["csrc/core/answer.cpp", "csrc/ops/other.cpp"]


def test_an_error_in_a_unit_names_the_file(checkout):
    use_units(checkout)
    checkout.write("site/csrc/ops/other.cpp", "int other() { return wrong; }\n")
    done = checkout.build()
    assert done.returncode == 1
    assert re.search(r"on both \(2 files\):\n(?s:.*)csrc/ops/other.cpp:1:\d+: error", done.stderr), done.stderr
