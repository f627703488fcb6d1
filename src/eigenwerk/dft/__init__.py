"""Electrons in materials: density-functional theory with plane waves and PAW data.

from eigenwerk import dft

result = dft.run(atoms, encut=400, kspacing=0.3)
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eigenwerk.dft.runs.api.run import run as run


def __getattr__(name: str) -> Any:
    """`run`, loaded when it is asked for: `eigenwerk check` must not wait for PyTorch."""
    if name != "run":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from eigenwerk.dft.runs.api.run import run

    return run
