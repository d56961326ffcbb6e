"""`mx.npx.utils`: files of arrays, under the name of the file that has them in MXNet."""

from ._files import load as load
from ._files import save as save
