"""The documentation site's configuration. script/docs builds the site into build/docs/html/VERSION."""

import sys
from pathlib import Path

import pydoca

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from extension.source import resolve as linkcode_resolve  # noqa: E402, F401

project = "pydoca"
author = "the authors of pydoca"
version = release = pydoca.__version__
language = "en"

extensions = ["myst_nb", "sphinx_copybutton", "sphinx.ext.linkcode", "extension"]

exclude_patterns = ["_templates", "extension", "reference"]  # the reference's programs stand in its pages

# Notebooks are committed with their outputs.
nb_execution_mode = "off"
myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # a page that is included begins below its first heading

html_theme = "furo"
html_title = f"pydoca {release}"
html_static_path = ["_static"]
templates_path = ["_templates"]
html_css_files = ["site.css"]
html_js_files = ["names.js", "version-switch.js"]
# A button copies the commands of a console without the prompt and the output; what a program prints has none.
copybutton_prompt_text = "$ "
copybutton_selector = "div:not(.highlight-text) > div.highlight > pre"
smartquotes = False  # "--side" is an option, not a dash
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
html_show_search_summary = False  # it would load pages by fetch(), which browsers refuse for files
html_theme_options = {"sidebar_hide_name": False, "top_of_page_buttons": []}
pygments_style = "friendly"
pygments_dark_style = "github-dark"
python_maximum_signature_line_length = 88
cpp_maximum_signature_line_length = 88
default_role = "py:obj"
toc_object_entries_show_parents = "hide"


# Links to names of other projects, whose pages are not there offline. Own names that do not exist are errors.
nitpick_ignore_regex = [
    ("py:.*", r"(?!pydoca\.).*"),
    ("cpp:.*", r"(?!pydoca::).*"),
    ("cpp:identifier", r"pydoca::[a-z_]+"),  # a namespace
]
