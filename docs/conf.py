"""How Sphinx builds the site."""

import sys
from importlib import metadata
from pathlib import Path

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
