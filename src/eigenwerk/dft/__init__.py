"""Electrons in materials: density-functional theory with plane waves and PAW data.

from eigenwerk import dft

result = dft.run(atoms, encut=400, kspacing=0.3)
earlier = dft.Result.read("folder")
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eigenwerk.dft.runs.api.result import Result as Result
    from eigenwerk.dft.runs.api.run import run as run


def __getattr__(name: str) -> Any:
    """`run` and `Result`, loaded when they are asked for: `eigenwerk check` must not wait for PyTorch."""
    if name == "run":
        from eigenwerk.dft.runs.api.run import run

        return run
    if name == "Result":
        from eigenwerk.dft.runs.api.result import Result

        return Result
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
