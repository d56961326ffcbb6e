"""`ConfigParser`."""

import configparser
from configparser import *  # noqa: F403

globals()["SafeConfigParser"] = configparser.ConfigParser
