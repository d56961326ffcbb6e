"""The exceptions of `distutils`."""


class DistutilsError(Exception):
    """An error of distutils."""


class DistutilsExecError(DistutilsError):
    """A command failed."""


class DistutilsFileError(DistutilsError):
    """A file or folder could not be made, copied or moved."""


class DistutilsPlatformError(DistutilsError):
    """The platform is not supported."""
