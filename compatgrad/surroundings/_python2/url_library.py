"""`urllib2`: what `urllib.request`, `urllib.error` and `urllib.parse` have today."""

from urllib.error import HTTPError as HTTPError
from urllib.error import URLError as URLError
from urllib.parse import quote as quote
from urllib.parse import unquote as unquote
from urllib.parse import urlparse as urlparse
from urllib.request import *  # noqa: F403
