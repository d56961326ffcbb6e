"""Reading and writing .nnp files for conversion."""

from .expander import NnpExpander
from .exporter import NnpExporter
from .importer import NnpImporter

__all__ = ["NnpExpander", "NnpExporter", "NnpImporter"]
