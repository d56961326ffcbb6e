"""The parsers of the commands."""

from __future__ import annotations

import argparse
from typing import Any


def parser_of(command: str, description: str, **more: Any) -> argparse.ArgumentParser:
    """A parser of `python -m compatgrad COMMAND`. Options cannot be abbreviated, since a program may have an option of
    such a name; the lines of the texts stay as they are. `more`: further arguments of ArgumentParser."""
    return argparse.ArgumentParser(
        prog=f"python -m compatgrad {command}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        **more,
    )
