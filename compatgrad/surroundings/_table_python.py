"""Names that Python's standard library removed."""

from __future__ import annotations

from compatgrad.surroundings._row import Row, renamed, rows

_ABSTRACT = """
AsyncGenerator AsyncIterable AsyncIterator Awaitable ByteString Callable Collection Container Coroutine Generator
Hashable ItemsView Iterable Iterator KeysView Mapping MappingView MutableMapping MutableSequence MutableSet Reversible
Sequence Set Sized ValuesView
"""

_ASSERTIONS = {
    "assertEquals": "assertEqual",
    "assertNotEquals": "assertNotEqual",
    "assert_": "assertTrue",
    "assertAlmostEquals": "assertAlmostEqual",
    "assertNotAlmostEquals": "assertNotAlmostEqual",
    "assertRegexpMatches": "assertRegex",
    "assertNotRegexpMatches": "assertNotRegex",
    "assertRaisesRegexp": "assertRaisesRegex",
    "failUnless": "assertTrue",
    "failIf": "assertFalse",
    "failUnlessEqual": "assertEqual",
}


def _python(removed: str, year: int, owner: str, names: dict[str, str | tuple[str, str]]) -> list[Row]:
    return rows("python", removed, year, owner, names)


NAMES = [
    *_python("3.7", 2018, "os", {"errno": "errno"}),
    *_python("3.8", 2019, "time", {"clock": ("._python.clock", "time.process_time or time.perf_counter")}),
    *_python(
        "3.8",
        2019,
        "platform",
        {
            "dist": ("._python.dist", "platform.freedesktop_os_release"),
            "linux_distribution": ("._python.linux_distribution", "platform.freedesktop_os_release"),
            "popen": "os.popen",
        },
    ),
    *_python("3.8", 2019, "cgi", {"escape": ("._python.cgi_escape", "html.escape")}),
    *_python("3.9", 2020, "fractions", {"gcd": ("._python.gcd", "math.gcd")}),
    *_python("3.9", 2020, "base64", {"encodestring": "base64.encodebytes", "decodestring": "base64.decodebytes"}),
    *_python("3.9", 2020, "threading.Thread", {"isAlive": "threading.Thread.is_alive"}),
    *_python("3.9", 2020, "html.parser.HTMLParser", {"unescape": ("._python.unescape", "html.unescape")}),
    *renamed("python", "3.10", 2021, "collections", "collections.abc", _ABSTRACT),
    *_python(
        "3.11",
        2022,
        "inspect",
        {
            "getargspec": ("._python.getargspec", "inspect.getfullargspec"),
            "formatargspec": ("._python.formatargspec", "inspect.signature"),
        },
    ),
    *_python("3.11", 2022, "asyncio", {"coroutine": ("types.coroutine", "async def")}),
    *_python(
        "3.12",
        2023,
        "unittest.TestCase",
        {old: f"unittest.TestCase.{new}" for old, new in _ASSERTIONS.items()},
    ),
    *_python("3.12", 2023, "configparser", {"SafeConfigParser": "configparser.ConfigParser"}),
    *_python("3.12", 2023, "configparser.RawConfigParser", {"readfp": ("._python.readfp", "ConfigParser.read_file")}),
    *_python("3.12", 2023, "locale", {"format": ("._python.locale_format", "locale.format_string")}),
    *_python("3.13", 2024, "unittest", {"makeSuite": ("._python.make_suite", "TestLoader.loadTestsFromTestCase")}),
]

GONE = [
    *_python("3.12", 2023, "", {"imp": ("._imp", "importlib")}),
    *_python(
        "3.12",
        2023,
        "",
        {
            "distutils": (".distutils", "setuptools and shutil"),
            "distutils.dir_util": (".distutils.dir_util", "shutil.copytree"),
            "distutils.file_util": (".distutils.file_util", "shutil.copy"),
            "distutils.errors": (".distutils.errors", "the errors of setuptools"),
            "distutils.log": (".distutils.log", "logging"),
            "distutils.spawn": (".distutils.spawn", "shutil.which and subprocess"),
            "distutils.util": (".distutils.util", "a function of your own"),
            "distutils.version": (".distutils.version", "packaging.version"),
        },
    ),
    *_python(
        "3.13", 2024, "", {"imghdr": ("._imghdr", "PIL.Image.open(f).format"), "pipes": ("._pipes", "shlex.quote")}
    ),
]

# Modules that had other names in Python 2. A program whose syntax is of both versions may import them.

_PYTHON2: dict[str, str | tuple[str, str]] = {
    "BaseHTTPServer": "http.server",
    "ConfigParser": ("._python2.config_parser", "configparser"),
    "Cookie": "http.cookies",
    "HTMLParser": "html.parser",
    "Queue": "queue",
    "SimpleHTTPServer": "http.server",
    "SocketServer": "socketserver",
    "StringIO": ("._python2.string_io", "io.StringIO and io.BytesIO"),
    "Tkinter": "tkinter",
    "UserDict": "collections",
    "__builtin__": "builtins",
    "anydbm": "dbm",
    "cPickle": ("._python2.pickles", "pickle"),
    "cStringIO": ("._python2.string_io", "io.StringIO and io.BytesIO"),
    "commands": "subprocess",
    "cookielib": "http.cookiejar",
    "copy_reg": "copyreg",
    "httplib": "http.client",
    "thread": "_thread",
    "urllib2": ("._python2.url_library", "urllib.request and urllib.error"),
    "urlparse": "urllib.parse",
    "xmlrpclib": "xmlrpc.client",
}
# Python 2 was maintained to 2020
GONE += _python("3.0", 2020, "", _PYTHON2)

NAMES += [
    *_python(
        "3.0",
        2020,
        "itertools",
        {
            "izip": "builtins.zip",
            "imap": "builtins.map",
            "ifilter": "builtins.filter",
            "ifilterfalse": "itertools.filterfalse",
            "izip_longest": "itertools.zip_longest",
        },
    ),
    *renamed(
        "python", "3.0", 2020, "urllib", "urllib.request", "pathname2url url2pathname urlcleanup urlopen urlretrieve"
    ),
    *renamed("python", "3.0", 2020, "urllib", "urllib.parse", "quote quote_plus unquote unquote_plus urlencode"),
    *_python("3.0", 2020, "os", {"getcwdu": "os.getcwd"}),
    *_python(
        "3.0",
        2020,
        "string",
        {
            "letters": "string.ascii_letters",
            "lowercase": "string.ascii_lowercase",
            "uppercase": "string.ascii_uppercase",
        },
    ),
]
