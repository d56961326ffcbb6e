"""Runs random nnabla programs and writes their results.

python -m tests.random_programs.nnabla [--count N | --seed S...] [--out FILE.json.gz] [--show SEED]
"""

from tests.random_programs import command
from tests.random_programs.nnabla import program

if __name__ == "__main__":
    command.main(program, count=320, digits=7)
