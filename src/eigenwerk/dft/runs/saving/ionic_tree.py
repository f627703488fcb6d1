"""Ionic steps as a tree of columns for eigenwerk.h5, and back with all their digits, in the units of files."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from eigenwerk.io.quantity import numbers_of
from eigenwerk.io.tree_check import TreeProblem
from eigenwerk.io.vasp.output.record import IonicStep, StepRecord

NUMBERS = numbers_of(IonicStep)

IN_ENGINE = {
    "lattice_xcv": "lattice_cv", "scaled_xac": "scaled_ac", "free_x": "free_energy",
    "internal_x": "energy_without_entropy", "extrapolated_x": "energy_zero", "forces_xav": "forces_av",
    "stress_xvv": "stress_vv", "moment_x": "moment",
}  # fmt: skip
"""Columns in hartree and bohr, for other programs."""

OF_SCF = tuple(one.name for one in fields(StepRecord) if one.name not in ("algorithm", "events", "precision"))


def ionic_steps_tree(ionic_steps: Sequence[IonicStep]) -> dict[str, Any]:
    """Structures and results of a sequence x as columns; hartree and bohr; numbers that were not computed are nan.

    "exact" holds the same in the units of files, with the steps of self-consistency, from which the steps come back.
    """
    columns = {one.name: (_column([getattr(step, one.name) for step in ionic_steps]), one) for one in NUMBERS}
    inside = {name: None if column_x is None else column_x / one.factor for name, (column_x, one) in columns.items()}
    return {
        **{column: inside[name] for column, name in IN_ENGINE.items()},
        "steps_x": np.array([len(ionic.steps) for ionic in ionic_steps]),
        "converged_x": np.array([ionic.converged for ionic in ionic_steps]),
    }  # fmt: skip


def exact_tree(ionic_steps: Sequence[IonicStep]) -> dict[str, Any]:
    """All that ionic steps hold, as columns; a column with gaps is nan there, one that is empty throughout is None."""
    if not ionic_steps:
        return {}
    tree: dict[str, Any] = {
        number.name: _column([getattr(one, number.name) for one in ionic_steps]) for number in NUMBERS
    }
    tree["converged"] = np.array([one.converged for one in ionic_steps])
    tree["count"] = np.array([len(one.steps) for one in ionic_steps])
    tree["remarks"] = ["\n".join(one.remarks) for one in ionic_steps]
    names = list(ionic_steps[-1].components)
    tree["components"] = {name: np.array([one.components.get(name, np.nan) for one in ionic_steps]) for name in names}
    steps = [step for one in ionic_steps for step in one.steps]
    tree["scf"] = {name: _column([getattr(step, name) for step in steps]) for name in OF_SCF}
    for name in ("algorithm", "precision"):
        tree["scf"][name] = " ".join(getattr(step, name) for step in steps)
    return tree


def _column(values: list[Any]) -> np.ndarray | None:
    shapes = [np.shape(value) for value in values if value is not None]
    if not shapes:
        return None
    return np.array([np.full(shapes[0], np.nan) if value is None else value for value in values], dtype=float)


def ionic_steps_of(tree: Mapping[str, Any]) -> tuple[IonicStep, ...]:
    """Inverse of `exact_tree`.  Raises TreeProblem if the columns do not fit together."""
    if not tree:
        return ()
    try:
        return tuple(_ionic_steps(tree))
    except (KeyError, ValueError, TypeError, IndexError, AttributeError) as error:
        raise TreeProblem(f"/motion/steps does not hold ionic steps ({error})") from error


def _ionic_steps(tree: Mapping[str, Any]) -> Iterable[IonicStep]:
    steps = list(_scf_steps(tree["scf"]))
    ends = np.cumsum(tree["count"])
    if len(ends) == 0 or ends[-1] != len(steps):
        raise ValueError("other numbers of steps of self-consistency")
    for x, end in enumerate(ends.tolist()):
        values = {number.name: _entry(tree.get(number.name), x) for number in NUMBERS}  # older files lack some
        values |= {
            number.name: float(values[number.name])
            for number in NUMBERS if not number.axes and values[number.name] is not None
        }  # fmt: skip
        yield IonicStep(
            steps=tuple(steps[end - int(tree["count"][x]) : end]), converged=bool(tree["converged"][x]),
            components={name: float(value_x[x]) for name, value_x in tree["components"].items()},
            remarks=tuple(filter(None, tree["remarks"][x].split("\n"))), **values,
        )  # fmt: skip


def _scf_steps(tree: Mapping[str, Any]) -> Iterable[StepRecord]:
    words = zip(tree["algorithm"].split(), tree["precision"].split(), strict=True)
    for x, (algorithm, precision) in enumerate(words):
        values = {name: _entry(tree[name], x) for name in OF_SCF}
        numbers: dict[str, Any] = {name: None if value is None else float(value) for name, value in values.items()}
        whole = {name: int(values[name]) for name in ("step", "applications")}
        yield StepRecord(algorithm=algorithm, precision=precision, **(numbers | whole))


def _entry(column_x: np.ndarray | None, x: int) -> Any:
    """None where nothing was computed."""
    if column_x is None:
        return None
    value = column_x[x]
    return None if np.isnan(value).all() else value
