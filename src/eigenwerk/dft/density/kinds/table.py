"""The fields there are: those of the files of this folder, each with its `FIELD`; a new file is enough."""

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from eigenwerk.dft.density.kinds.kind import FieldKind, WaveField
from eigenwerk.dft.density.kinds.occupancy import OCCUPANCY
from eigenwerk.functionals.functional import DENSITY

ALWAYS = (DENSITY, OCCUPANCY)
"""Those of every density."""


def _declared() -> list[FieldKind]:
    names = sorted({file.name for file in iter_modules([str(Path(__file__).parent)])} - {"table", "kind"})
    fields = [import_module(f"eigenwerk.dft.density.kinds.{name}").FIELD for name in names]
    return sorted(fields, key=lambda field: ALWAYS.index(field.name) if field.name in ALWAYS else len(ALWAYS))


KINDS: dict[str, FieldKind] = {kind.name: kind for kind in _declared()}
"""By name, in the order in which they are packed."""

WAVES: dict[str, WaveField] = {name: kind for name, kind in KINDS.items() if isinstance(kind, WaveField)}
"""Those on plane waves; the others are one-centre matrices."""
