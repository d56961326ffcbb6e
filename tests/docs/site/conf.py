"""Sphinx's settings for the site."""

import compatgrad

project = "compatgrad"
author = "the authors of compatgrad"
release = version = compatgrad.__version__

extensions = ["myst_nb", "tests.docs.site.links"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
# the notebooks are stored with their output, which tests/docs/test_notebooks.py compares with a run
nb_execution_mode = "off"
myst_heading_anchors = 4
html_theme = "furo"
html_title = f"compatgrad {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
# the names of modules stand in the headings
add_module_names = False
maximum_signature_line_length = 88
# the navigation of every page would contain thousands of names; a page of the reference lists its own at its start
toc_object_entries = False
# programs of the pages have other languages' output in them, which is shown as it is
highlight_language = "text"
