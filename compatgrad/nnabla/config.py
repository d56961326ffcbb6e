"""Settings of the utilities: defaults, which configuration files override. Files are read in this order, and later ones
take precedence: /etc/nnabla.conf, ~/.nnabla, ./nnabla.conf (on Windows nnabla.ini in %ProgramData%\\NNabla and
%APPDATA%\\NNabla, then ./nnabla.conf) and the file that the environment variable NNABLA_CONFIG_FILE_PATH names.
"""

import configparser
import os

_DEFAULTS = {
    "DATA_ITERATOR": {
        "cache_file_format": ".npy",  # or .h5
        "data_source_file_cache_num_of_threads": "10",
        "cache_file_cache_num_of_threads": "4",
        "allow_pickle": "False",  # whether .npy files of data sets and caches may contain pickles, which can run code
        "data_source_file_cache_size": "100",  # examples per cache file
        "data_source_file_cache_location": "",  # a folder; empty: the system's for temporary files
        "data_source_buffer_max_size": "1073741824",  # bytes; larger data are not kept in memory
    },
    "LOG": {
        "log_file_name": "",
        "log_file_level": "DEBUG",
        "log_file_format": "%(asctime)s [%(name)s][%(levelname)s]: %(pathname)s : %(funcName)s : "
        "%(lineno)s : %(message)s",
        "log_console_level": "INFO",
        "log_console_format": "%(asctime)s [%(name)s][%(levelname)s]: %(message)s",
    },
    "MISC": {"misc_show_progress": "True", "nnp_param_format": ".h5"},
    "CALLBACK": {"util_callback_module": ""},
    "CHECKPOINT": {"optimizer_interval": "5"},
    "MULTINODE": {
        "analyse_gpu_status_interval": "20",
        "gpu_slowing_warning_threshold": "2",
        "gpu_slowing_error_threshold": "10",
    },
}


def _files():
    if os.name == "nt":
        folders = [os.environ.get(name) for name in ("ProgramData", "APPDATA")]
        found = [os.path.join(folder, "NNabla", "nnabla.ini") for folder in folders if folder]
    else:
        found = ["/etc/nnabla.conf", os.path.expanduser("~/.nnabla")]
    found.append(os.path.abspath("nnabla.conf"))
    named = os.environ.get("NNABLA_CONFIG_FILE_PATH")
    return [*found, named] if named else found


def _get_nnabla_config():
    config = configparser.RawConfigParser()
    config.read_dict(_DEFAULTS)
    config.read(_files())
    return config


nnabla_config = _get_nnabla_config()
