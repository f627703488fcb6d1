"""Levels as result text in the layout of MFDn version 15, so that programs that read its files can read ours."""

from collections.abc import Iterable

import numpy as np

from eigenwerk import __version__
from eigenwerk.ncci.results.levels import Levels


def res_text(levels: Levels) -> str:
    """The whole text, sections in MFDn's order; what was not computed is left out."""
    parts = [_program(), _parameters(levels), "[RESULTS]", _energies(levels)]
    parts += [_table(levels, *row) for row in _SECTIONS if row[2][0] in levels.values]
    parts += [_quanta(levels), _occupations(levels, "p"), _occupations(levels, "n")]
    return "\n\n".join(part for part in parts if part) + "\n"


def _program() -> str:
    return f"[eigenwerk]\nVersion = {__version__}\n# layout of MFDn version 15"


def _parameters(levels: Levels) -> str:
    about = levels.about
    rows = [
        "[PARAMETERS]",
        "",
        "[Basis]",
        f"Nprotons  = {about['valence_Z']:8d}",
        f"Nneutrons = {about['valence_N']:8d}",
        f"TwoMj  = {about['twice_M']:8d}",
        f"parity = {about['parity']:8d}",
    ]
    if about.get("Nmax") is not None:
        rows += [f"Nmin   = {about['least_excitation']:8d}", f"Nmax   = {about['Nmax']:8d}", f"DeltaN = {2:8d}"]
    rows += ["", "[Many-body matrix]", f"dimension  = {levels.dimension:18d}", f"numnonzero = {levels.nonzeros:18d}"]
    rows += ["", "[Interaction]", f"# {levels.interaction}", "Hrank  =        2"]
    if about.get("hw") is not None:
        rows += [f"hbomeg = {about['hw']:10.4f}", f"fmass  = {about['nucleon_mass']:10.4f}"]
    return "\n".join(rows)


def _energies(levels: Levels) -> str:
    rows = ["[Energies]", "# Seq       J    n      T        Eabs        Eexc        Error    J-full"]
    for n, energy in enumerate(levels.energy_n):
        excited = energy - levels.energy_n[0]
        rows.append(
            f"{n + 1:5d}   {levels.twice_j_n[n] / 2:6.1f} {_number(levels, n):3d} {levels.isospin_n[n]:7.3f} "
            f"{energy:12.3f} {excited:10.3f} {levels.residual_n[n]:12.2E} {levels.j_n[n]:9.4f}"
        )
    return "\n".join(rows)


_SECTIONS = (
    (
        "M1 moments",
        "    mu       Dl(p)      Dl(n)      Ds(p)      Ds(n)    sum(=J)",
        ("mu", "Dl_p", "Dl_n", "Ds_p", "Ds_n", "sum_J"),
        "11.4f",
    ),
    ("E2 moments", "   Q(p)       Q(n)", ("Q_p", "Q_n"), "11.4f"),
    (
        "Angular momenta",
        "    <L^2>      <S^2>      <Lp^2>     <Sp^2>     <Ln^2>     <Sn^2>        <J^2>",
        ("L2", "S2", "Lp2", "Sp2", "Ln2", "Sn2", "J2"),
        "11.4f",
    ),
    (
        "Relative radii",
        "  r(p)       r(n)    r(matter)     r_pp       r_nn       r_pn",
        ("r_p", "r_n", "r_matter", "r_pp", "r_nn", "r_pn"),
        "11.4f",
    ),
    ("Other 2-body observables", "  Ncm  T^2", ("N_cm", "T2"), "17.6G"),
)


def _table(levels: Levels, title: str, heads: str, names: tuple[str, ...], form: str) -> str:
    rows = [f"[{title}]", f"# Seq    J    n      T  {heads}"]
    for n in range(len(levels.energy_n)):
        values = [float(levels.values[name][n]) for name in names if name in levels.values]
        if not any(np.isnan(values)):
            rows.append(_state(levels, n) + "".join(format(value, form) for value in values))
    return "\n".join(rows) if len(rows) > 2 else ""


def _number(levels: Levels, n: int) -> int:
    """Which state of its J it is, from 1; MFDn counts all of them, whatever their centre of mass does."""
    twice_j = levels.twice_j_n.tolist()
    return twice_j[: n + 1].count(twice_j[n])


def _state(levels: Levels, n: int) -> str:
    return f"{n + 1:5d} {levels.twice_j_n[n] / 2:5.1f} {_number(levels, n):3d} {levels.isospin_n[n]:7.3f}"


def _quanta(levels: Levels) -> str:
    if "quanta" not in levels.values:
        return ""
    rows = ["[Oscillator quanta]", "# Seq    J    n      T      Amp(N)^2 "]
    for n, share_x in enumerate(levels.values["quanta"]):
        rows.append(_state(levels, n) + "".join(f"{share:12.4f}" for share in share_x))
    return "\n".join(rows)


def _occupations(levels: Levels, species: str) -> str:
    if f"occupations_{species}" not in levels.values:
        return ""
    word = {"p": "pro", "n": "neu"}[species]
    rows = ["[Occupation probabilities]", "# orb      n_rad   l   2*j"] if species == "p" else []
    occupation_nx = levels.values[f"occupations_{species}"]
    for a, (n, l, twice_j) in enumerate(levels.orbitals[species].tolist()):
        rows.append(f"{a + 1:5d}   {word} {n:4d} {l:4d} {twice_j:4d}  " + _cells(occupation_nx[:, a]))
    name = {"p": "proton", "n": "neutron"}[species]
    rows.append(f"# sum of {name} occ.prob. " + _cells(occupation_nx.sum(axis=1)))
    return "\n".join(rows)


def _cells(values: Iterable[float]) -> str:
    return "".join(f"{value:13.4G}" for value in values)
