"""BIGSTICK's one-body densities beside ours, coupled in J and isospin.

rho_Kt(ab) = <f ||| [a+_a a~_b]_Kt ||| i> / sqrt((2K+1)(2t+1)), a~_m = (-1)^(j+m) a_-m, and the same in isospin.  The
signs of states are free: one sign for all elements between two states.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from comparison import Comparison

from eigenwerk.ncci.results.one_body_sums import one_body_densities
from eigenwerk.ncci.results.tensors import coupling
from eigenwerk.ncci.run import CaseResult

ORBITALS = ((0, 2, 3), (0, 2, 5), (1, 0, 1))
"""n, l, 2j of the orbitals in the order of the file."""


def read_densities(path: Path) -> Iterator[tuple[int, int, int, int, int, tuple[float, float]]]:
    """(initial, final, K, a, b, values for t = 0 and 1); states and orbitals count from 0."""
    initial = final = rank = 0
    for line in path.read_text().splitlines():
        if match := re.match(r"\s*Initial state #\s*(\d+)", line):
            initial = int(match[1]) - 1
        elif match := re.match(r"\s*Final state\s+#\s*(\d+)", line):
            final = int(match[1]) - 1
        elif match := re.match(r"\s*Jt =\s*(\d+)", line):
            rank = int(match[1])
        elif match := re.match(r"\s*(\d+)\s+(\d+)\s+(-?\d+\.\d{5})\s+(-?\d+\.\d{5})\s*$", line):
            yield initial, final, rank, int(match[1]) - 1, int(match[2]) - 1, (float(match[3]), float(match[4]))


def compare_densities(comparison: Comparison, path: Path, run: CaseResult) -> None:
    """All elements between the states of the file."""
    rows: dict[tuple[int, int], list] = {}
    for initial, final, rank, a, b, values in read_densities(path):
        rows.setdefault((initial, final), []).append((rank, a, b, values))
    pairs = list(rows)
    vectors = torch.from_numpy(run.vectors_nb)
    left, right = (vectors[[pair[k] for pair in pairs]] for k in (1, 0))
    density = {species: one_body_densities(run.basis, species, left, right) for species in "pn"}
    found, hidden = [], 0
    for number, (initial, final) in enumerate(pairs):
        block = []
        for rank, a, b, values in rows[initial, final]:
            for t, value in enumerate(values):
                ours = _coupled(run, {s: density[s][number] for s in "pn"}, (final, initial), rank, t, a, b)
                if ours is None:
                    hidden += 1
                else:
                    block.append((f"{initial} -> {final} K {rank} t {t} {a}{b}", value, ours))
        if block:
            largest = max(block, key=lambda row: abs(row[1]))
            sign = 1.0 if largest[1] * largest[2] >= 0 else -1.0
            found += [(what, value, sign * ours, 0.5001e-5) for what, value, ours in block]
    comparison.add(path.name, "one-body density", found)
    if hidden:
        comparison.skip(path.name, f"one-body densities, {hidden} elements", "cannot be told from M = 1/2")


def _coupled(run: CaseResult, density, states: tuple[int, int], rank: int, t: int, a: int, b: int) -> float | None:
    orbitals, final_initial = run.problem.space.orbitals_p, states
    m_states = orbitals.states()
    a, b = (orbitals.labels.index(ORBITALS[orbital]) for orbital in (a, b))
    x_a, x_b = (np.flatnonzero(m_states.orbital_x == orbital) for orbital in (a, b))
    twice_a, twice_b = int(orbitals.twice_j_a[a]), int(orbitals.twice_j_a[b])
    total = {"p": 0.0, "n": 0.0}
    for x in x_a:
        for y in x_b:
            m = int(m_states.twice_m_x[x])
            if m == int(m_states.twice_m_x[y]):
                factor = coupling(twice_a, m, twice_b, -m, 2 * rank) * (-1.0) ** ((twice_b - m) // 2)
                for species in "pn":
                    total[species] += factor * float(density[species][x, y])
    value = (total["n"] + (1 - 2 * t) * total["p"]) / np.sqrt(2.0)
    twice_j = [int(run.levels.twice_j_n[n]) for n in final_initial]
    twice_t = [round(2 * float(run.levels.isospin_n[n])) for n in final_initial]
    twice_tz = run.case.nucleus.neutrons - run.case.nucleus.protons
    in_j = coupling(twice_j[1], run.case.twice_m, 2 * rank, 0, twice_j[0])
    in_t = coupling(twice_t[1], twice_tz, 2 * t, 0, twice_t[0])
    if abs(in_j) < 1e-9 or abs(in_t) < 1e-9:
        return None
    scale = np.sqrt((twice_j[0] + 1) * (twice_t[0] + 1) / ((2 * rank + 1) * (2 * t + 1)))
    return value * scale / (in_j * in_t)
