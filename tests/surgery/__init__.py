"""Random programs that rewire, cut, free and interrupt a graph while it is computed and differentiated.

python -m tests.surgery chainer --programs 10000             no crash, and the engine is as before afterwards
python -m tests.surgery chainer --programs 2000 --peer DIR/legacy/bin/python   and Chainer's own numbers
"""
