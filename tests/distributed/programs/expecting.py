"""What the programs of this folder share. Python finds it beside the program that it runs."""


def expect_error(kind, words, call, *args, **kwargs):
    """A call must raise an error of this kind, whose message contains the words."""
    try:
        call(*args, **kwargs)
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"no error with {words!r}")
