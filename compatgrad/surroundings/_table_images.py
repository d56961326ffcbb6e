"""Names that Pillow, matplotlib and scikit-image removed."""

from __future__ import annotations

from compatgrad.surroundings._row import Row, rows


def _pillow(removed: str, year: int, owner: str, names: dict[str, str | tuple[str, str]]) -> list[Row]:
    return rows("PIL", removed, year, owner, names)


def _matplotlib(removed: str, year: int, owner: str, names: dict[str, str | tuple[str, str]]) -> list[Row]:
    return rows("matplotlib", removed, year, owner, names)


_AXES, _TEXT = "matplotlib.axes._base._AxesBase", "ImageDraw.textbbox"

NAMES = [
    *_pillow(
        "3.0",
        2015,
        "PIL.Image.Image",
        {"tostring": "PIL.Image.Image.tobytes", "fromstring": "PIL.Image.Image.frombytes"},
    ),
    *_pillow("3.0", 2015, "PIL.Image", {"fromstring": "PIL.Image.frombytes"}),
    *_pillow("9.0", 2022, "PIL", {"PILLOW_VERSION": "PIL.__version__"}),
    *_pillow("9.0", 2022, "PIL.Image", {"PILLOW_VERSION": "PIL.__version__"}),
    *_pillow(
        "10.0",
        2023,
        "PIL.Image",
        {
            "ANTIALIAS": "PIL.Image.LANCZOS",
            "CUBIC": "PIL.Image.BICUBIC",
            "LINEAR": "PIL.Image.BILINEAR",
        },
    ),
    *_pillow(
        "10.0",
        2023,
        "PIL.ImageDraw.ImageDraw",
        {
            "multiline_textsize": ("._text.multiline_textsize", "ImageDraw.multiline_textbbox"),
            "textsize": ("._text.textsize", _TEXT),
        },
    ),
    *_pillow(
        "10.0",
        2023,
        "PIL.ImageFont.FreeTypeFont",
        {
            "getoffset": ("._text.getoffset", "ImageFont.getbbox"),
            "getsize": ("._text.getsize", "ImageFont.getbbox"),
            "getsize_multiline": ("._text.getsize_multiline", "ImageDraw.multiline_textbbox"),
        },
    ),
    *_pillow("10.0", 2023, "PIL.ImageFont.ImageFont", {"getsize": ("._text.getsize_bitmap", "ImageFont.getbbox")}),
    *_pillow("10.0", 2023, "PIL.ImageFont.TransposedFont", {"getsize": ("._text.getsize_turned", "ImageFont.getbbox")}),
    *_pillow("12.0", 2025, "PIL.Image", {"isImageType": ("._text.isImageType", "isinstance(im, PIL.Image.Image)")}),
    *_matplotlib(
        "2.2",
        2018,
        _AXES,
        {
            "get_axis_bgcolor": f"{_AXES}.get_facecolor",
            "set_axis_bgcolor": f"{_AXES}.set_facecolor",
        },
    ),
    *_matplotlib("2.2", 2018, "matplotlib.pyplot", {"spectral": "matplotlib.pyplot.nipy_spectral"}),
    *_matplotlib(
        "2.2",
        2018,
        "matplotlib.cm",
        {"spectral": "matplotlib.cm.nipy_spectral", "spectral_r": "matplotlib.cm.nipy_spectral_r"},
    ),
    *_matplotlib(
        "3.0",
        2018,
        "matplotlib.cm",
        {
            "Vega10": "matplotlib.cm.tab10",
            "Vega20": "matplotlib.cm.tab20",
            "Vega20b": "matplotlib.cm.tab20b",
            "Vega20c": "matplotlib.cm.tab20c",
        },
    ),
    *_matplotlib(
        "3.0",
        2018,
        "matplotlib.pyplot",
        {"hold": ("._matplotlib.hold", "nothing: plots are added"), "ishold": ("._matplotlib.ishold", "True")},
    ),
    *_matplotlib(
        "3.0",
        2018,
        _AXES,
        {
            "hold": ("._matplotlib.axes_hold", "nothing: plots are added"),
            "ishold": ("._matplotlib.axes_ishold", "True"),
            "set_color_cycle": ("._matplotlib.set_color_cycle", "Axes.set_prop_cycle"),
        },
    ),
    *rows(
        "matplotlib",
        "3.1",
        2019,
        "matplotlib.mlab",
        {
            name: (f"._matplotlib.{name}", "NumPy and SciPy")
            for name in "bivariate_normal center_matrix dist entropy find frange l1norm l2norm movavg normpdf prctile "
            "rms_flat".split()
        },
    ),
    *_matplotlib(
        "3.6",
        2022,
        "matplotlib.backend_bases.FigureCanvasBase",
        {"set_window_title": ("._matplotlib.set_window_title", "FigureManager.set_window_title")},
    ),
    *_matplotlib(
        "3.7",
        2023,
        _AXES,
        {
            name: (f"._matplotlib.{name}", f"Axes.get_subplotspec().{name}")
            for name in "is_first_col is_first_row is_last_col is_last_row".split()
        },
    ),
    *_matplotlib(
        "3.9",
        2024,
        "matplotlib.cm",
        {"register_cmap": ("._matplotlib.register_cmap", "matplotlib.colormaps.register")},
    ),
    *_matplotlib(
        "3.11", 2026, "matplotlib.cm", {"get_cmap": ("matplotlib.pyplot.get_cmap", "matplotlib.colormaps[name]")}
    ),
    *_matplotlib(
        "3.10",
        2024,
        "matplotlib.backends.backend_agg.FigureCanvasAgg",
        {"tostring_rgb": ("._matplotlib.tostring_rgb", "FigureCanvasAgg.buffer_rgba")},
    ),
    *rows(
        "skimage",
        "0.18",
        2020,
        "skimage.measure",
        {
            "compare_mse": "skimage.metrics.mean_squared_error",
            "compare_nrmse": "skimage.metrics.normalized_root_mse",
            "compare_psnr": "skimage.metrics.peak_signal_noise_ratio",
            "compare_ssim": "skimage.metrics.structural_similarity",
        },
    ),
    *rows("skimage", "0.19", 2021, "skimage.measure", {"marching_cubes_lewiner": "skimage.measure.marching_cubes"}),
]

GONE = [
    *rows("skimage", "0.13", 2017, "", {"skimage.filter": "skimage.filters"}),
]
