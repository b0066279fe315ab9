"""The build's additions to MkDocs: the generated pages, formulas as MathML and their font, so that a browser needs no network."""

from __future__ import annotations

import re
import sys
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

from bpir.tools.pages.documentation import FORMULA

sys.path.insert(0, str(Path(__file__).parent))
import site_pages as site

_CODE = re.compile(r"(^ *```.*?^ *```|`[^`\n]+`)", re.DOTALL | re.MULTILINE)
_WORD = re.compile(r"([_^])\{([A-Za-z]{2,})\}")
FONT = "STIXTwoMath-Regular.ttf"  # under the Open Font License; ziamath carries it
_formulas: list[str] = []


def on_config(config: Any) -> Any:
    """The language reference has a page for each dialect that there is; the navigation lists none of them."""
    (section,) = (entry["Language reference"] for entry in config.nav if "Language reference" in entry)
    section += [{Path(path).stem: path} for path in site.reference_paths() if path not in section]
    return config


def on_files(files: Files, config: Any) -> Files:
    for path, text in site.pages(Path(config.config_file_path).parent).items():
        files.append(File.generated(config, path, content=text))
    font = str(resources("ziamath") / "fonts" / FONT)
    files.append(File.generated(config, f"assets/fonts/{FONT}", abs_src_path=font))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    parts = _CODE.split(markdown)
    return "".join(part if index % 2 else FORMULA.sub(_kept, part) for index, part in enumerate(parts))


def on_page_content(html: str, **_: Any) -> str:
    return re.sub("\ue000(\\d+)\ue001", lambda match: _formulas[int(match.group(1))], html)


def _kept(match: re.Match[str]) -> str:
    """A place for the formula, which Markdown leaves alone."""
    mathml = convert(_WORD.sub(r"\1{\\mathrm{\2}}", match.group(1)))
    _formulas.append(mathml.replace("<mo>&#x0002F;</mo>", '<mo lspace="0.05em" rspace="0.05em">&#x0002F;</mo>'))
    return f"\ue000{len(_formulas) - 1}\ue001"
