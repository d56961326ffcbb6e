"""Runs random MXNet programs and writes their results.

python -m tests.random_programs.mxnet [--count N | --seed S...] [--out FILE.json.gz] [--show SEED]
"""

from tests.random_programs import command
from tests.random_programs.mxnet import program

if __name__ == "__main__":
    command.main(program, count=400, digits=9)
