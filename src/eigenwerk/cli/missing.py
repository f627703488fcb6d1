"""A package that eigenwerk needs is not installed: a sentence says which, and how to get it.

Loaded when that happened and not before: Python needs ten milliseconds to be able to look at what is installed.
"""

import re
import shlex
import sys
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec


def missing_words(error: BaseException) -> str | None:
    """Words for the import of a package that is not there at all; None for every other error.

    Packages that eigenwerk declares and that are missing as well are named with it, so that one command gets them all.
    """
    package = error.name if isinstance(error, ModuleNotFoundError) else None
    # a part of a package that is there, or a module of ours or of Python, is a fault and no matter of installing
    if not package or "." in package or package == "eigenwerk" or package in sys.stdlib_module_names:
        return None
    declared = _declared()
    missing = sorted({package, *filter(_is_absent, declared)})
    what = f"The Python package{'s' if len(missing) > 1 else ''} {' and '.join(missing)}"
    command = [sys.executable, "-m", "pip", "install", *(declared.get(name, name) for name in missing)]
    return (
        f"{what} {'are' if len(missing) > 1 else 'is'} not installed, and eigenwerk does not work without. "
        f"Install by:  {shlex.join(command)}"
    )


def _declared() -> dict[str, str]:
    """What eigenwerk cannot do without, from its own metadata: name to import -> what pip is to install."""
    try:
        lines = requires("eigenwerk") or []
    except PackageNotFoundError:  # run from a folder of sources
        return {}
    entries = [line for line in lines if "extra ==" not in line]
    return {re.split(r"[^\w.-]", entry)[0].replace("-", "_").lower(): entry for entry in entries}


def _is_absent(package: str) -> bool:
    try:
        return find_spec(package) is None
    except ImportError:
        return True
