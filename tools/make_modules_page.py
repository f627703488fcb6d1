"""Writes the list of modules from their docstrings:  python tools/make_modules_page.py

docs/modules.md: every folder of the package with what its __init__ says, and every module with the first sentence of
its docstring.  Nothing is imported: files are read, so any tree will do.
"""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "eigenwerk"
PAGE = ROOT / "docs" / "modules.md"

HEAD = """# Modules

Every module with the first sentence of its docstring, written by `tools/make_modules_page.py`. How they belong
together, and which may import which, stands in [Architecture](architecture.md).
"""


def first_sentence(path: Path) -> str:
    """Of the docstring of a file, on one line; empty without one."""
    found = re.match(r'\s*r?"""(.*?)"""', path.read_text(), re.DOTALL)
    words = " ".join((found[1] if found else "").split("\n\n")[0].split())
    return re.split(r"(?<=[.?!])\s+(?=[A-Z`])", words)[0]


def modules_markdown(package: Path) -> str:
    """The whole page: the root first, folders in the order of their names, each behind the one that holds it."""
    parts = [HEAD, *_folder(package, package)]
    for folder in sorted(path.parent for path in package.rglob("__init__.py") if path.parent != package):
        parts += _folder(folder, package)
    return "\n".join(parts)


def _folder(folder: Path, package: Path) -> Iterator[str]:
    place = folder.relative_to(package)
    level = min(len(place.parts), 3)
    yield f"{'#' * (level + 1) if level else '##'} {place if level else 'eigenwerk'}\n"
    if level:
        yield f"{_cell(first_sentence(folder / '__init__.py'))}\n"
    modules = sorted(path for path in folder.glob("*.py") if path.name != "__init__.py")
    if modules:
        yield "| module | what it is |\n|---|---|"
        yield from (f"| `{path.stem}` | {_cell(first_sentence(path))} |" for path in modules)
        yield ""


def _cell(words: str) -> str:
    """Words as they stand, whatever they mean to Markdown."""
    return re.sub(r"([\\*_|<\[\]$])", r"\\\1", words) if "`" not in words else words.replace("|", r"\|")


if __name__ == "__main__":
    PAGE.write_text(modules_markdown(PACKAGE))
