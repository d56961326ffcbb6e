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


def alternative_cli(args):
    """The hook's result for the arguments of a command, which it may run instead; None: it does not."""
    return _call("alternative_cli", args)


def get_callback_version():
    """What the hook wants added to the version, or None."""
    return _call("get_callback_version")


def add_train_command_arg(subparser):
    """Lets the hook add arguments to the parser of the command `train`."""
    _call("add_train_command_arg", subparser)


def get_timelimit(args):
    """How many seconds a training may take, as the hook says; -1 without one."""
    return _call("get_timelimit", args, default=-1)


def get_best_from_status(args):
    """The best error and its epoch of a training that goes on, as the hook says; (None, None) without one."""
    return _call("get_best_from_status", args, default=(None, None))


def check_training_time(args, config, timeinfo, epoch, last_epoch):
    """Whether a training may go on behind `epoch`, as the hook says; True without one."""
    return _call("check_training_time", args, config, timeinfo, epoch, last_epoch, default=True)


def update_time_train(prediction=None):
    """Tells the hook how many seconds a training is going to take."""
    _call("update_time_train", prediction)


def update_forward_time():
    """Tells the hook that a part of a command `forward` is done."""
    _call("update_forward_time")


def save_train_snapshot():
    """Tells the hook that the parameters of a training were written."""
    _call("save_train_snapshot")


def process_evaluation_result(outdir, filename):
    """Tells the hook where the results of a command `forward` are."""
    _call("process_evaluation_result", outdir, filename)


def result_base(base, suffix, outdir):
    """The hook's path for the results of a training, without extension; None without one."""
    return _call("result_base", base, suffix, outdir)


def update_status(state=None, start=False, start_time=None):
    """Calls the configured module's `update_status(state, start, start_time)`, if it has one."""
    _call("update_status", state, start, start_time)


def update_progress(text):
    """Calls the configured module's `update_progress(text)`, if it has one."""
    _call("update_progress", text)


def get_load_image_func(ext):
    """The hook's loader of files with the extension `ext`, or None."""
    return _call("get_load_image_func", ext)
