"""Refuses an interaction file that does not suit a case, before anything is built."""

from dataclasses import replace
from pathlib import Path

from eigenwerk.errors import InputError
from eigenwerk.ncci.inputs.inputs import Case
from eigenwerk.ncci.interaction.files import (
    h2_pairs,
    is_h2,
    refuse_other_hw,
    refuse_what_is_not_two_body,
    relative_from_file,
)
from eigenwerk.ncci.interaction.two_body import PairSpace, lacking
from eigenwerk.ncci.problem import CaseSpace, no_core_problem


def refuse_unfit_file(case: Case, path: Path, problem: CaseSpace) -> None:
    """Raises InputError for a file that holds no two-body interaction, is damaged, belongs to another hw or does not
    tell its hw, or lacks pairs of orbitals that the space of the case has."""
    where = f"{case.path}: "
    refuse_what_is_not_two_body(path, where)
    if not is_h2(path):
        relative_from_file(path, case.file_hw)
        return
    refuse_other_hw(path, problem.hw, case.file_hw, where)
    given = h2_pairs(path)
    if lack := lacking(given, problem.pairs):
        raise InputError(f"{where}{path.name} {lack}. Use an interaction that has them{_smaller(case, given)}.")


def _smaller(case: Case, given: PairSpace) -> str:
    """The largest space of the same parity for which the file is enough, as the end of a sentence."""
    if case.max_excitation is None:
        return ", or lower the limits of [basis]"
    for size in range(case.max_excitation - 2, -1, -2):
        if not lacking(given, no_core_problem(replace(case, max_excitation=size)).pairs):
            return f", or lower Nmax to {size}, the largest of this parity that the file allows"
    return "; there is no smaller Nmax of this parity for which the file is enough"
