"""How the site is made: `make -C docs html`, or without running the gallery, `make -C docs html-noplot`.

Nothing is fetched: no fonts, scripts or inventories from elsewhere. Pages are Markdown that reads well on a forge, too.
"""

from __future__ import annotations

import inspect
import re
import sys
from enum import Enum
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import numpy as np
from public_names import file_names
from sklearn.base import BaseEstimator

from exactcp import __version__
from exactcp.measures import Measure, RegressionMeasure

project = "exactcp"
author = "The exactcp developers"
project_copyright = "the exactcp developers"
version = release = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "offline_math",
    "public_names",
    "unbroken_numbers",
]
root_doc = "index"
exclude_patterns = ["_build", "auto_examples/**/*.ipynb", "auto_examples/**/*.py", "sg_execution_times.rst"]
nitpick_ignore = [("py:class", "collections.abc.Callable"), ("py:class", "numpy.ndarray")]  # their pages are elsewhere
suppress_warnings = ["config.cache"]  # sphinx-gallery's settings hold a function

# Markdown
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath", "smartquotes"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 3
ANCHOR = re.compile(r'^<a id="([a-z0-9-]+)"></a>$', re.MULTILINE)

# the reference; types stand in the docstrings, in words
default_role = "code"
smartquotes_action = "De"  # quotes of docstrings are Python's: to be typed as they stand
add_module_names = False
autosummary_generate = True
WORDS = {  # on what has no docstring
    "exactcp.experiments.NAMES": "The names of the experiments, for `make_config` and `exactcp reproduce`.",
}
# the methods of measures that nobody else calls are on the pages of their base classes
ASKED_BY_PREDICTORS = {*vars(Measure), *vars(RegressionMeasure), "is_fixed", "objects", "sharded"} - {
    "fit", "score", "score_labels", "predict", "twin",
}  # fmt: skip
autosummary_filename_map = file_names()
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
autodoc_preserve_defaults = True
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
templates_path = ["_templates"]

# the gallery
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "doc_module": ("exactcp",),
    "reference_url": {"exactcp": None},
    "backreferences_dir": "reference/generated/backreferences",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "thumbnail_size": (900, 420),
    "image_srcset": ["2x"],
    "remove_config_comments": True,
    "min_reported_time": 10_000,
    "write_computation_times": False,
    "matplotlib_animations": False,
}

# how it looks
html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "exactcp"
html_favicon = "_static/favicon.svg"
html_static_path = ["_static"]
html_css_files = ["exactcp.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "exactcp", "image_light": "_static/favicon.svg", "image_dark": "_static/favicon.svg"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "show_prev_next": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "start": [], "which": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def name_anchors(app: Any, docname: str, source: list[str]) -> None:
    """Make targets of the anchors of a page, so that links to them are checked."""
    if docname.startswith("theory/"):
        source[0] = ANCHOR.sub(r"(\1)=", source[0])


def show_parameters(app: Any, what: str, name: str, obj: Any, options: Any, args: str, returned: str) -> Any:
    """Write the parameters of a class as Python sees them, whatever checks their names before `__init__`."""
    if what == "class" and (issubclass(obj, (np.ndarray, Enum)) or getattr(obj, "_is_protocol", False)):
        return "", None  # nobody calls these
    if what != "class" or not issubclass(obj, BaseEstimator):
        return None
    found = inspect.signature(obj)
    if "_" in found.parameters:
        return "()", None
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in found.parameters.values()]
    return str(found.replace(parameters=plain, return_annotation=inspect.Signature.empty)), None


def skip_inherited(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what estimators, arrays and tuples inherit from elsewhere; keep the members of an enumeration."""
    if isinstance(member, Enum):
        return False
    maker = getattr(member, "__objclass__", None)
    home = getattr(member, "__module__", None) or (maker.__module__ if maker else "exactcp")
    inherited = not home.startswith("exactcp")
    empty = (inspect.getdoc(member) or "").startswith("Alias for field number")
    for_predictors = name in ASKED_BY_PREDICTORS and app.env.docname.startswith("reference/generated/exactcp.measures.")
    skipped = inherited or empty or (for_predictors and not app.env.docname.endswith("Measure"))
    return True if skipped or re.fullmatch(r"set_\w+_request", name) else None


def say_in_words(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Say what a constant is instead of what Python says about its type; keep the first initial of a reference."""
    if name in WORDS:
        lines[:] = [WORDS[name]]
    for i, line in enumerate(lines):  # "V. Vovk" alone on a line would be the fifth item of a list
        lines[i] = re.sub(r"^(\s*\.\. \[[^]]+\] [A-Z])\. ", r"\1\\. ", line)


def setup(app: Any) -> None:
    """Connect what is above."""
    app.connect("source-read", name_anchors)
    app.connect("autodoc-process-signature", show_parameters)
    app.connect("autodoc-process-docstring", say_in_words)
    app.connect("autodoc-skip-member", skip_inherited)
