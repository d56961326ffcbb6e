"""``python -m nnabla``: the commands of ``nnabla_cli``."""

from .utils.cli.cli import main

if __name__ == "__main__":
    main()
