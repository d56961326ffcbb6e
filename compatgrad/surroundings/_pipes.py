"""What programs used of the module `pipes`, which Python 3.13 removed."""

from shlex import quote

__all__ = ["quote"]
