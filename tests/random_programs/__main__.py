"""Runs random Chainer programs and writes their results.

python -m tests.random_programs [--count N | --seed S...] [--out FILE.json.gz] [--show SEED]
"""

from tests.random_programs import command, program

if __name__ == "__main__":
    command.main(program, count=260, digits=12)
