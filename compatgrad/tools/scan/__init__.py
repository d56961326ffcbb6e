"""`python -m compatgrad scan`: says what a program uses of its original, and what of it compatgrad has."""

from compatgrad.tools.scan.command import main as main
