"""`mx.np.io`: `mx.np.genfromtxt` under the name of the file that has it in MXNet."""

from . import genfromtxt as genfromtxt
