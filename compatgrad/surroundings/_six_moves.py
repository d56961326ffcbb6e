"""`six.moves`: names that differ between Python 2 and 3."""

import builtins as builtins
import configparser as configparser
import copyreg as copyreg
import functools
import importlib
import itertools
import os
import pickle as cPickle  # noqa: F401
import queue as queue
import shlex
import subprocess
import sys
import urllib as urllib
import urllib.parse as urllib_parse  # noqa: F401
from collections import UserDict as UserDict
from collections import UserList as UserList
from collections import UserString as UserString
from io import BytesIO as BytesIO
from io import StringIO as StringIO

cStringIO = StringIO
filter = builtins.filter
filterfalse = itertools.filterfalse
getcwd, getcwdb, getoutput = os.getcwd, os.getcwdb, subprocess.getoutput
input = builtins.input
intern = sys.intern
map = builtins.map
range = xrange = builtins.range
reduce = functools.reduce
reload_module = importlib.reload
shlex_quote = shlex.quote
zip = builtins.zip
zip_longest = itertools.zip_longest
