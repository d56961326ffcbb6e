"""The .nnp format: a zip archive of a network in the text format and of parameters."""


def nnp_version() -> str:
    """The version of the format that is written."""
    return "0.1"
