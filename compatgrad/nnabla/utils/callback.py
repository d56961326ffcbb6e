"""Hooks that other programs put into the utilities: functions of the modules that the configuration names.

The modules are listed, with commas, under `util_callback_module` in the section CALLBACK.
"""

import importlib

from ..config import nnabla_config


def _modules():
    names = nnabla_config.get("CALLBACK", "util_callback_module", fallback="").strip("[] ")
    try:
        return [importlib.import_module(name.strip()) for name in names.split(",") if name.strip()]
    except ImportError:
        return []


callback_list = _modules()


def _get_callback(func_name):
    return next((module for module in callback_list if hasattr(module, func_name)), None)


def _call(func_name, *args, default=None):
    module = _get_callback(func_name)
    return getattr(module, func_name)(*args) if module else default


def update_status(state=None, start=False, start_time=None):
    """Tells the hook of that name the state of a run."""
    _call("update_status", state, start, start_time)


def update_progress(text):
    """Tells the hook of that name the progress, a str."""
    _call("update_progress", text)


def get_load_image_func(ext):
    """The hook's loader of files with the extension `ext`, or None."""
    return _call("get_load_image_func", ext)
