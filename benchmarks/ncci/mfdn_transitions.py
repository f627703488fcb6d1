"""Reduced matrix elements and transition strengths of MFDn beside ours; signs of states are free, so magnitudes."""

import re
from pathlib import Path

import numpy as np
import torch
from comparison import Comparison, short
from our_runs import place

from eigenwerk.ncci.basis.basis_pairs import basis_pairs
from eigenwerk.ncci.interaction.relative_motion.oscillator import length
from eigenwerk.ncci.matrix_free.pairs import pairs_hamiltonian
from eigenwerk.ncci.results.observables import scalar_operators
from eigenwerk.ncci.run import CaseResult
from eigenwerk.units import NUCLEON_MASS_MEV

ONE_BODY = {"Dlp": "Dl_p", "Dln": "Dl_n", "Dsp": "Ds_p", "Dsn": "Ds_n", "M1": "M1", "E2p": "E2_p", "E2n": "E2_n"}
TWO_BODY = {f"U{name}": ours for name, ours in ONE_BODY.items()}
SCALARS = ("J2", "L2", "S2", "Sp2", "Sn2")


def read_elements(path: Path) -> dict[str, list[tuple[tuple[float, int], tuple[float, int], float]]]:
    """Name -> ((Jf, nf), (Ji, ni), reduced matrix element)."""
    found: dict[str, list] = {}
    name, awaiting = "", False
    for line in path.read_text().splitlines():
        words = line.split()
        if line.startswith("#"):
            awaiting = words[-1] == "name"
        elif awaiting and len(words) == 4:
            name, awaiting = words[3], False
        elif name and len(words) == 7:
            found.setdefault(name, []).append(
                ((float(words[0]), int(words[2])), (float(words[3]), int(words[5])), float(words[6]))
            )
    return found


def compare_elements(comparison: Comparison, path: Path, runs: list[CaseResult]) -> None:
    """One- or two-body transition files; runs: at M = 1 and M = 0, the first that can tell is taken."""
    name = short(path)
    for operator, elements in read_elements(path).items():
        ours = ONE_BODY.get(operator) or TWO_BODY.get(operator)
        matrices = [run.levels.transitions[ours] for run in runs] if ours else _scalar_matrices(runs, operator)
        if matrices is None:
            comparison.skip(name, f"{operator}, {len(elements)} elements", "operator that eigenwerk does not have")
            continue
        if ours and ours.startswith("E2"):  # the files have one factor of the squared oscillator length too many
            factor = length(runs[0].case.hw, NUCLEON_MASS_MEV) ** 2
            matrices = [factor * matrix for matrix in matrices]
        pairs, lost = [], 0
        for final, initial, value in elements:
            found = _find(runs, matrices, final, initial)
            if found is None:
                lost += 1
                continue
            pairs.append((f"{operator} {final} {initial}", abs(value), abs(found), 1e-7))
        comparison.add(f"{name} {operator}", "reduced element", pairs)
        if lost:
            comparison.skip(name, f"{operator}, {lost} elements", "states above those that we computed")


def _find(runs: list[CaseResult], matrices: list[np.ndarray], final, initial) -> float | None:
    for run, matrix in zip(runs, matrices, strict=True):
        f, i = place(run.levels, *final), place(run.levels, *initial)
        if f is not None and i is not None and not np.isnan(matrix[f, i]):
            return float(matrix[f, i])
    return None


def _scalar_matrices(runs: list[CaseResult], operator: str) -> list[np.ndarray] | None:
    """<f||O||i> = sqrt(2J+1) <f|O|i> of scalar operators."""
    if operator not in SCALARS:
        return None
    matrices = []
    for run in runs:
        two_body = scalar_operators(run.problem, ["spins"])[operator]
        products = pairs_hamiltonian(run.basis, basis_pairs(run.basis, two_body))
        vectors_nb = torch.from_numpy(run.vectors_nb)
        matrix = (vectors_nb @ products.apply(vectors_nb).T).numpy()
        number = {"Sp2": run.problem.space.protons, "Sn2": run.problem.space.neutrons}.get(operator, 0)
        matrix = matrix + 0.75 * number * np.eye(len(matrix))
        matrices.append(matrix * np.sqrt(run.levels.twice_j_n + 1.0)[:, None])
    return matrices


def compare_old_transitions(comparison: Comparison, path: Path, run: CaseResult) -> None:
    """The tables of version 14 to reference states: Dl, Ds, B(M1), E2 and B(E2)."""
    name = short(path)
    elements, strengths, gamow_teller = [], [], 0
    reference: int | None = None
    kind = ""
    for line in path.read_text().splitlines():
        words = line.split()
        if "Transitions to reference state" in line:
            kind = "reference"
        elif words[:5] == ["Seq", "J", "NP", "n", "T"]:
            kind = "M1" if "B(M1:" in words else "E2" if "B(E2:" in words else "GT" if "Seq(Z+1,N-1)" in words else ""
        elif kind and re.fullmatch(r"[\s\d.+-]+", line) and words:
            numbers = [float(word) for word in words]
            state = place(run.levels, numbers[1], int(numbers[3]))
            if kind == "reference":
                reference = state
            elif kind == "GT":
                gamow_teller += 1
            elif state is not None and reference is not None:
                _old_row(run, kind, state, reference, numbers[6:], elements, strengths)
        elif words:
            kind = ""
    comparison.add(name, "reduced element", elements)
    comparison.add(name, "B(M1), B(E2)", strengths)
    if gamow_teller:
        comparison.skip(name, f"Gamow-Teller, {gamow_teller} rows", "eigenwerk has no operators that change charge")


def _old_row(run: CaseResult, kind: str, state: int, reference: int, numbers, elements, strengths) -> None:
    """Elements in the order protons, neutrons, then B(state -> reference), B(reference -> state)."""
    names = ["Dl_p", "Dl_n", "Ds_p", "Ds_n"] if kind == "M1" else ["E2_p", "E2_n"]
    unit = 0.5001e-4
    for name, value in zip(names, numbers, strict=False):
        ours = run.levels.transitions[name][state, reference]
        if not np.isnan(ours):
            elements.append((f"{name} {state} {reference}", abs(value), abs(float(ours)), unit))
    for value, start in zip(numbers[len(names) :], (state, reference), strict=False):
        ours = run.levels.transitions[kind][state, reference] ** 2 / (run.levels.twice_j_n[start] + 1)
        if not np.isnan(ours):
            strengths.append((f"{kind} from {start}", value, float(ours), unit))
