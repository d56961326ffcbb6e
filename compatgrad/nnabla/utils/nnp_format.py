"""The .nnp format: a zip archive with networks in the text format and parameters."""


def nnp_version() -> str:
    """Returns the version of the .nnp format that `save` writes.

    Returns:
        The version, as str.

    Example:
        >>> from compatgrad.nnabla.utils.nnp_format import nnp_version
        >>> nnp_version()
        '0.1'

    Source: `nnabla.utils.nnp_format.nnp_version` of nnabla 1.39.0.
    """
    return "0.1"
