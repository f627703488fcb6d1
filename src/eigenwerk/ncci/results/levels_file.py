"""Levels and vectors <-> levels.h5, in the layout of eigenwerk's HDF5 states (docs/formats/ncci_h5.md)."""

from pathlib import Path
from typing import Any

import numpy as np

from eigenwerk import __version__
from eigenwerk.errors import InputError
from eigenwerk.io.hdf5.hdf5_state import read_state, write_state
from eigenwerk.io.tree_check import Array, Each, Flag, GroupRule, Maybe, Number, Plain, Text, TreeProblem, check
from eigenwerk.ncci.inputs.inputs import Case
from eigenwerk.ncci.results.levels import Levels

KIND = "ncci-levels"

ANEW = "run the case again"
"""For messages: what can be done without a file."""

_STATES = Array("real", "n", gaps=True)

LEVELS = GroupRule({
    "about": GroupRule({
        "Z": Number(int, 0, 300), "N": Number(int, 0, 300), "nucleus": Text(), "interaction": Text(),
        "parity": Number(int, -1, 1), "twice_M": Number(int, -1000, 1000), "hw": Maybe(Number(float)),
        "Nmax": Maybe(Number(int, 0)),
    }),
    "dimension": Number(int, 1, 1e18), "nonzeros": Number(int, 0, 1e18), "converged": Flag(),
    "energy_n": Array("real", "n"), "residual_n": _STATES, "j_n": _STATES, "isospin_n": _STATES,
    "values": Each(Array("real", "n ...", gaps=True)), "transitions": Each(Array("real", "n n", gaps=True)),
    "orbitals": Each(Array("whole", "o 3", 0, 1000)), "solver": Plain(),
}, {"smaller": Plain(arrays=True)})  # fmt: skip
"""What a file has to hold besides the vectors."""


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
    state = read_state(path, only=names | {"kind"}, anew=ANEW)
    kind = state.pop("kind", None)
    if not isinstance(kind, str) or kind != KIND:
        raise InputError(f"{path} holds no levels of a nucleus. Name a levels.h5 that `eigenwerk ncci run` wrote.")
    try:
        check(state, LEVELS)
    except TreeProblem as problem:
        raise InputError(f"{path}: damaged: {problem}. Take another copy, or run the case again.") from problem
    return Levels(**state)


def start_levels(case: Case) -> Levels | None:
    """The results that a case starts from, None where it names none.  Raises InputError where they are of another
    nucleus, or none."""
    start = case.solver.start
    if start is None:
        return None
    place = f'{case.path}: [solver] start = "{start}"'
    levels = read_levels(_file(start, f"{place}: there are no results."))
    if (levels.about["Z"], levels.about["N"]) != (case.nucleus.protons, case.nucleus.neutrons):
        raise InputError(
            f"{place} holds states of {levels.about['nucleus']}, not of {case.nucleus.name}. Name results of "
            f"{case.nucleus.name}, or remove the key."
        )
    return levels


def read_vectors(path: str | Path) -> np.ndarray:
    """The vectors (n, b) of a file.  Raises InputError if it holds none."""
    path = _file(path)
    try:
        tree = read_state(path, only={"vectors", "energy_n", "dimension"}, anew=ANEW)
        rule = GroupRule({"vectors": GroupRule({"coeff_nb": Array("real", "n b", -2.0, 2.0)}),
            "energy_n": Array("real", "n")})
        sizes = check(tree, rule)
    except TreeProblem as problem:
        raise InputError(f"{path} holds no vectors ({problem}). Use the levels.h5 of a finished run.") from problem
    if sizes["b"] != tree["dimension"]:
        raise InputError(f"{path}: damaged: vectors of {sizes['b']} numbers for {tree['dimension']} states.")
    return np.asarray(tree["vectors"]["coeff_nb"])


def _file(path: str | Path, missing: str = "") -> Path:
    """levels.h5 of a folder, or the file itself.  missing: how the error begins where there is none."""
    path = Path(path)
    path = path / "levels.h5" if path.is_dir() else path
    if not path.exists():
        words = missing or f"There are no results {path}."
        raise InputError(f"{words} Name a levels.h5 of `eigenwerk ncci run`, or its folder.")
    return path
