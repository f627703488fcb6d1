"""Loading PyTorch in half the time: parts that no calculation uses wait, and nothing is tidied up in between.

`import torch` also loads its exporter, quantiser, optimisers and data loaders, and writes shape rules for tensors
without data, for each of 2000 operations.  Here these modules stand in place unloaded, and load themselves when
something reaches into them.  Garbage is not collected meanwhile, since next to nothing of what is imported is garbage.
"""

import gc
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

UNUSED = frozenset({
    "torch._meta_registrations", "torch.distributed._meta_registrations", "torch.distributions", "torch.export",
    "torch.nn.intrinsic", "torch.nn.qat", "torch.optim", "torch.utils.data",
})  # fmt: skip
"""Modules that these versions of PyTorch load without using them; a name that does not exist does no harm."""

TRIED = frozenset({"2.11", "2.12", "2.13", "2.14", "2.15"})
"""Versions of PyTorch with which that was tried.  Others might need in another order what is put off, and fail."""


def unused_parts() -> frozenset[str]:
    """UNUSED, or nothing if the installed PyTorch is of a version that was not tried."""
    spec = PathFinder.find_spec("torch")
    for folder in (spec.submodule_search_locations if spec else None) or ():
        try:
            words = (Path(folder) / "version.py").read_text(encoding="utf-8")
        except OSError:
            continue
        found = re.search(r"""^__version__ *= *['"](\d+\.\d+)\.""", words, re.MULTILINE)
        return UNUSED if found and found[1] in TRIED else frozenset()
    return frozenset()


@contextmanager
def quick_imports(unused: frozenset[str] | None = None) -> Iterator[None]:
    """Inside, modules named in `unused` (default: `unused_parts`) are put off, and garbage is not collected.

    What was loaded for a first calculation is never looked at again by the collector, whose rounds would pass a million
    objects.
    """
    finder = _Finder(unused_parts() if unused is None else unused)
    collected, first = gc.isenabled(), "eigenwerk.dft.run.run" not in sys.modules
    gc.disable()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        if first:
            gc.freeze()
        if collected:
            gc.enable()


class _Finder(MetaPathFinder):
    """Finds the modules that are put off, as Python would, but with a loader that does nothing yet."""

    def __init__(self, unused: frozenset[str]):
        self.unused = unused

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self.unused:
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _Later(spec.loader)
        return spec


class _Later(Loader):
    """Makes a module that the real loader fills when it is used."""

    def __init__(self, real: Loader):
        self.real = real

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _PutOff(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: see `_PutOff`."""


class _PutOff(ModuleType):
    """A module that loads when anything but its own description is asked for."""

    def __getattr__(self, name: str) -> Any:
        # programs that look through all modules ask for __file__ and the like, which must not load them
        if name.startswith("__") or self.__spec__ is None or not isinstance(self.__spec__.loader, _Later):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        self.__spec__.loader = self.__loader__ = self.__spec__.loader.real
        object.__setattr__(self, "__class__", ModuleType)
        self.__spec__.loader.exec_module(self)
        return getattr(self, name)
