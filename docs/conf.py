"""How Sphinx builds the site."""

import os
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # the site is built without a network

sys.path.insert(0, str(Path(__file__).parent))

project = "bestmix"
author = "The bestmix developers"
copyright = author
release = metadata.version("bestmix")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "commands"]
exclude_patterns = ["_build", "_generated"]
if not any(Path(__file__).parent.glob("research/*.md")):
    exclude_patterns.append("explanation/research.md")  # a list of nothing
suppress_warnings = ["ref.python"]  # attributes of several classes share a name, such as problem
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
smartquotes = False  # what is copied from a page is to work

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the signature in the docstring says it shorter
autodoc_class_signature = "mixed"
napoleon_use_ivar = True
napoleon_google_docstring = False

html_theme = "furo"
html_title = "bestmix"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0072b2", "color-brand-content": "#0072b2"},
    "dark_css_variables": {"color-brand-primary": "#56b4e9", "color-brand-content": "#56b4e9"},
}


def keep_colons(app: Any, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    """Napoleon takes what stands before a property's first colon for its type; here it is a sentence."""
    if what in ("property", "attribute") and lines:
        lines[0] = lines[0].replace(": ", " – ")


def setup(app: Any) -> None:
    """Run before Napoleon, whose priority is 500."""
    app.connect("autodoc-process-docstring", keep_colons, priority=400)
