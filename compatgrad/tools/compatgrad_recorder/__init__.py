"""Records what a Chainer, nnabla or MXNet program computes: functions, gradients, updates, in their order.

    PYTHON recorder.pyz -o FOLDER [OPTION ...] -- train.py ARGUMENT ...

`python -m compatgrad record --write-recorder recorder.pyz` writes the modules of this package into one file, which
records on the original framework and on compatgrad alike. The package needs NumPy and Python 3.6 or later and nothing
else, and uses names that the originals and compatgrad share: function and link hooks of Chainer, function hooks of
nnabla, operators, blocks and executors of MXNet, and the update methods of the optimizers.

FOLDER then contains `meta.json`, `events.jsonl` (a list of events per line) and `arrays.bin`. An array in an event is
[dtype, shape, statistics, place]. Statistics are null for arrays that are stored whole, at `place` in `arrays.bin`;
otherwise they are [min, max, mean, L2 norm, count of NaN, count of infinities, checksum, s1, s2], of which the first
three are null for arrays of floats. s1 and s2 are dot products with two fixed random vectors: the difference of two
arrays is estimated from the differences of these.
"""
