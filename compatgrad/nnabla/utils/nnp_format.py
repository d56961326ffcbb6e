"""The .nnp format: a zip archive of a network in the text format and of parameters."""


def nnp_version() -> str:
    """Tells the version of the .nnp format that is written.

    Returns:
        The version as text.

    Example:
        >>> from compatgrad.nnabla.utils.nnp_format import nnp_version
        >>> nnp_version()
        '0.1'

    Source: `nnabla.utils.nnp_format.nnp_version` of nnabla 1.39.0.
    """
    return "0.1"
