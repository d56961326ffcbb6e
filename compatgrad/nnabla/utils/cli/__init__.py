"""The commands of ``nnabla_cli``."""
