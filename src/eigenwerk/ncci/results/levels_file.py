"""Levels and vectors <-> levels.h5, in the layout of eigenwerk's HDF5 states (docs/formats/ncci_h5.md)."""

from pathlib import Path
from typing import Any

import numpy as np

from eigenwerk import __version__
from eigenwerk.errors import InputError
from eigenwerk.io.hdf5_state import read_state, write_state
from eigenwerk.ncci.results.levels import Levels

KIND = "ncci-levels"


def write_levels(path: str | Path, levels: Levels, vectors_nb: np.ndarray | None) -> None:
    """Write levels, with the vectors unless None.  Raises InputError if the file cannot be written."""
    state: dict[str, Any] = {
        "kind": KIND,
        "about": dict(levels.about),
        "dimension": levels.dimension,
        "nonzeros": levels.nonzeros,
        "converged": levels.converged,
        "energy_n": levels.energy_n,
        "residual_n": levels.residual_n,
        "j_n": levels.j_n,
        "isospin_n": levels.isospin_n,
        "values": dict(levels.values),
        "transitions": dict(levels.transitions),
        "orbitals": dict(levels.orbitals),
        "solver": dict(levels.solver),
        "smaller": dict(levels.smaller),
        "vectors": {"coeff_nb": vectors_nb},
    }
    write_state(path, state, __version__)


def read_levels(path: str | Path) -> Levels:
    """The levels of a file, or of the folder that holds one, without vectors.

    Raises InputError if there is none, if it is damaged, or something else.
    """
    path = _file(path)
    names = set(Levels.__dataclass_fields__)
    state = read_state(path, only=names | {"kind"})
    if state.pop("kind", None) != KIND:
        raise InputError(f"{path} holds no levels of a nucleus. Name a levels.h5 that `eigenwerk ncci run` wrote.")
    return Levels(**state)


def read_vectors(path: str | Path) -> np.ndarray:
    """The vectors (n, b) of a file.  Raises InputError if it holds none."""
    path = _file(path)
    vectors = read_state(path, only={"vectors"}).get("vectors", {}).get("coeff_nb")
    if vectors is None:
        raise InputError(f"{path} holds no vectors. Use the levels.h5 of a finished run.")
    return np.asarray(vectors)


def _file(path: str | Path) -> Path:
    """levels.h5 of a folder, or the file itself."""
    path = Path(path)
    path = path / "levels.h5" if path.is_dir() else path
    if not path.exists():
        raise InputError(f"There are no results {path}. Name a levels.h5 of `eigenwerk ncci run`, or its folder.")
    return path
