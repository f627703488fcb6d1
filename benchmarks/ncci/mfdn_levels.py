"""MFDn's files of levels beside ours: energies, J, T, quanta, moments, radii, angular momenta, terms, occupations."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from comparison import Comparison, rounding, short
from our_runs import place

from eigenwerk.io.ncci.res import ResFile, read_res
from eigenwerk.ncci.interaction.relative_motion.oscillator import length
from eigenwerk.ncci.results.levels import Levels
from eigenwerk.ncci.results.levels_text import orbital_names
from eigenwerk.units import NUCLEON_MASS_MEV

COLUMNS = {
    ("M1 moments", "mu"): ("moment", "mu"),
    ("M1 moments", "Dl(p)"): ("moment", "Dl_p"),
    ("M1 moments", "Dl(n)"): ("moment", "Dl_n"),
    ("M1 moments", "Ds(p)"): ("moment", "Ds_p"),
    ("M1 moments", "Ds(n)"): ("moment", "Ds_n"),
    ("E2 moments", "Q(p)"): ("moment", "Q_p"),
    ("E2 moments", "Q(n)"): ("moment", "Q_n"),
    ("Angular momenta", "<L^2>"): ("angular momentum", "L2"),
    ("Angular momenta", "<S^2>"): ("angular momentum", "S2"),
    ("Angular momenta", "<Sp^2>"): ("angular momentum", "Sp2"),
    ("Angular momenta", "<Sn^2>"): ("angular momentum", "Sn2"),
    ("Angular momenta", "<J^2>"): ("angular momentum", "J2"),
    ("Angular momenta", "<T^2>"): ("angular momentum", "T2"),
    ("Relative radii", "r(p)"): ("radius", "r_p"),
    ("Relative radii", "r(n)"): ("radius", "r_n"),
    ("Relative radii", "r(matter)"): ("radius", "r_matter"),
    ("Relative radii", "r_pp"): ("radius", "r_pp"),
    ("Relative radii", "r_nn"): ("radius", "r_nn"),
    ("Relative radii", "r_pn"): ("radius", "r_pn"),
    ("Energies", "r(p)"): ("radius", "r_p"),
    ("Energies", "r(n)"): ("radius", "r_n"),
    ("Energies", "r(matter)"): ("radius", "r_matter"),
    ("Other 2-body observables", "Ncm"): ("N_cm", "N_cm"),
    ("Other 2-body observables", "Tintr"): ("term of the energy", "T_int"),
    ("Other 2-body observables", "VNN"): ("term of the energy", "V_NN"),
    ("Other 2-body observables", "VC"): ("term of the energy", "V_C"),
    ("Other 2-body observables", "L2"): ("angular momentum", "L2"),
    ("Other 2-body observables", "S2"): ("angular momentum", "S2"),
    ("Other 2-body observables", "Sp2"): ("angular momentum", "Sp2"),
    ("Other 2-body observables", "Sn2"): ("angular momentum", "Sn2"),
    ("Other 2-body observables", "J2"): ("angular momentum", "J2"),
    ("Other 2-body observables", "T2"): ("angular momentum", "T2"),
}
"""(table, column) of MFDn -> (kind, our name)."""

DIGITS = {"moment": 4, "angular momentum": 4, "radius": 4, "N_cm": 9, "term of the energy": 3}


def with_resting_species(levels: Levels) -> Levels:
    """Pair radii as if the centre of mass of the protons, and that of the neutrons, were in its 0s state.

    s_pp = Z sum_p r^2 - Z^2 <R_p^2> with <R_p^2> = 3 b^2/(2 Z) in place of its true value; s_pn is what remains of the
    whole sum.  So MFDn's files of 6Li at Nmax 4 have it (R_p is not at rest there); those at Nmax 2 do not.
    """
    z, n = int(levels.about["Z"]), int(levels.about["N"])
    b2, values = length(float(levels.about["hw"]), NUCLEON_MASS_MEV) ** 2, dict(levels.values)
    whole = (z + n) ** 2 * values["r_matter"] ** 2
    s_pp = z**2 * (values["r_p"] ** 2 + 1.5 * b2 / (z + n)) - 1.5 * z * b2
    s_nn = n**2 * (values["r_n"] ** 2 + 1.5 * b2 / (z + n)) - 1.5 * n * b2
    sums = {"r_pp": s_pp, "r_nn": s_nn, "r_pn": whole - s_pp - s_nn}
    return replace(levels, values=values | {name: np.sqrt(s) / (z + n) for name, s in sums.items()})


def compare_levels(comparison: Comparison, path: Path, levels: Levels, other_is_garbled: bool = False) -> None:
    """All tables of one file."""
    theirs = read_res(path)
    name = short(path)
    energies = theirs.table("Energies")
    states = [place(levels, j, int(n)) for j, n in zip(energies.column("J"), energies.column("n"), strict=True)]
    known = [(row, n) for row, n in enumerate(states) if n is not None]
    if len(known) < len(states):
        comparison.skip(
            name, f"{len(states) - len(known)} states of {len(states)}", "above the states that we computed"
        )
    comparison.add(name, "energy", _pairs(levels, known, energies.column("Eabs"), levels.energy_n, 3))
    comparison.add(name, "T", _pairs(levels, known, energies.column("T"), levels.isospin_n, 3))
    if "J-full" in energies.columns:
        comparison.add(name, "J", _pairs(levels, known, energies.column("J-full"), levels.j_n, 4))
    if "Many-body matrix" in theirs.settings:
        pairs = [("dimension", levels.dimension), ("numnonzero", levels.nonzeros)]
        settings = theirs.settings["Many-body matrix"]
        count = [(key, float(settings[key]), float(ours), 0.0) for key, ours in pairs if key in settings]
        comparison.add(name, "count", count)
    _compare_quanta(comparison, name, theirs, levels, known)
    for kind in sorted({kind for kind, _ in COLUMNS.values()}):
        comparison.add(name, kind, _named(theirs, levels, known, kind, other_is_garbled))
    comparison.add(name, "occupation", _occupations(theirs, levels, known))


def _pairs(levels: Levels, known, theirs: np.ndarray, ours: np.ndarray, digits: int):
    for row, n in known:
        yield f"{levels.label(n)} #{levels.order_n[n]}", float(theirs[row]), float(ours[n]), 0.5001 * 10.0**-digits


def _compare_quanta(comparison: Comparison, name: str, theirs: ResFile, levels: Levels, known) -> None:
    if "quanta" not in levels.values or "Oscillator quanta" not in theirs.tables:
        return
    table = theirs.table("Oscillator quanta").rest()
    digits = 5 if "Basis" in theirs.settings and "parity" not in theirs.settings["Basis"] else 4
    pairs = [
        (
            f"{levels.label(n)} step {step}",
            float(value),
            float(levels.values["quanta"][n, step]),
            0.5001 * 10.0**-digits,
        )
        for row, n in known
        for step, value in enumerate(table[row])
    ]
    comparison.add(name, "quanta", pairs)


def _named(theirs: ResFile, levels: Levels, known, kind: str, other_is_garbled: bool):
    for (table, column), (of_kind, ours) in COLUMNS.items():
        if of_kind != kind or table not in theirs.tables or column not in theirs.tables[table].columns:
            continue
        if ours not in levels.values or (other_is_garbled and table.startswith("Other")):
            continue
        found = theirs.table(table)
        rows = {(j, n): x for x, (j, n) in enumerate(zip(found.column("J"), found.column("n"), strict=True))}
        for _, n in known:
            x = rows.get((levels.twice_j_n[n] / 2, float(levels.order_n[n])))
            if x is None or not np.isfinite(found.column(column)[x]) or np.isnan(levels.values[ours][n]):
                continue
            value = float(found.column(column)[x])
            places = DIGITS[kind]
            if table.startswith("Other") and kind != "N_cm" and value:  # six digits in all
                places = 5 - int(np.floor(np.log10(abs(value))))
            what = f"{column} of {levels.label(n)} #{levels.order_n[n]}"
            yield what, value, float(levels.values[ours][n]), 0.5001 * 10.0**-places


def _occupations(theirs: ResFile, levels: Levels, known):
    for species in "pn":
        if f"occupations_{species}" not in levels.values:
            continue
        names = orbital_names(levels, species)
        for a, label in enumerate(levels.orbitals[species].tolist()):
            printed = theirs.occupations.get((species, *label))
            if printed is None:
                continue
            for row, n in known:
                value = float(printed[row])
                unit = rounding(f"{value:.3E}") if value else 1e-12
                yield f"{species} {names[a]}", value, float(levels.values[f"occupations_{species}"][n, a]), unit
