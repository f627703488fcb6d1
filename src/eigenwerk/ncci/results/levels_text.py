"""Levels as a table for people."""

from collections.abc import Iterable

import numpy as np

from eigenwerk.ncci.inputs.inputs import half, number_text
from eigenwerk.ncci.results.levels import COULOMB_LEFT, KNOWN, MIXED, Levels

IMPURE = 0.01
"""Quanta of the centre of mass that are worth a warning."""

ROUNDED = 1e-12
"""Tolerances below it are about as small as the rounding of a product in double precision."""

Column = tuple[str, str, str]
"""Name in `Levels.values`, heading, format."""

GROUPS: tuple[tuple[str, tuple[Column, ...]], ...] = (
    (
        "Point radii (fm)",
        (
            ("r_p", "protons", "9.4f"),
            ("r_n", "neutrons", "9.4f"),
            ("r_matter", "matter", "9.4f"),
        ),
    ),
    (
        "Squared angular momenta",
        (
            ("L2", "L^2", "9.4f"),
            ("Lp2", "Lp^2", "9.4f"),
            ("Ln2", "Ln^2", "9.4f"),
            ("S2", "S^2", "9.4f"),
            ("Sp2", "Sp^2", "9.4f"),
            ("Sn2", "Sn^2", "9.4f"),
            ("J2", "J^2", "9.4f"),
            ("T2", "T^2", "9.5f"),
        ),
    ),
    (
        "Magnetic dipole (nuclear magnetons)",
        (
            ("mu", "mu", "9.4f"),
            ("Dl_p", "<l_z> p", "9.4f"),
            ("Dl_n", "<l_z> n", "9.4f"),
            ("Ds_p", "<s_z> p", "9.4f"),
            ("Ds_n", "<s_z> n", "9.4f"),
        ),
    ),
    (
        "Electric quadrupole (fm^2; Q with charges: e fm^2)",
        (("Q_p", "protons", "9.4f"), ("Q_n", "neutrons", "9.4f"), ("Q", "Q", "9.4f")),
    ),
    (
        "Terms of the energy (MeV)",
        (("T_int", "T_int", "11.4f"), ("V_NN", "V_NN", "11.4f"), ("V_C", "V_C", "11.4f")),
    ),
    ("Centre of mass", (("N_cm", "<N_cm>", "11.3e"),)),
)


def levels_lines(levels: Levels) -> list[str]:
    """The whole table, line by line."""
    lines = [*_head(levels), "", *_energies(levels)]
    for title, columns in GROUPS:
        known = [column for column in columns if column[0] in levels.values]
        if known:
            lines += ["", title, *_columns(levels, known)]
        if title.startswith("Magnetic") and known and _hidden(levels):
            lines.append("-: odd ranks vanish at M = 0; a run with M = 1 shows them")
    lines += [*_quanta(levels), *_occupations(levels), *_strengths(levels), *_factors(levels)]
    return lines


def _factors(levels: Levels) -> list[str]:
    """What the moments and transitions were computed with."""
    about = levels.about
    if "effective_charges" not in about or not ("mu" in levels.values or levels.transitions):
        return []
    charge, g_l, g_s = ("{:g}, {:g}".format(*about[name]) for name in ("effective_charges", "g_orbital", "g_spin"))
    hw = f"hbar-omega {about['orbital_hw']:.2f} MeV"
    return ["", f"Protons, neutrons: charges {charge} e; g_l {g_l}; g_s {g_s}; orbitals of {hw}"]


def remarks(levels: Levels) -> list[str]:
    """What a person should know of the states before using them."""
    found, quanta_n = [], np.asarray(levels.values.get("N_cm", np.zeros(len(levels.energy_n))))
    if not levels.converged:
        found.append("Not converged: allow more products ([solver] products), or a larger tolerance.")
    tolerance = levels.solver.get("tolerance", np.inf)
    rounded = levels.solver.get("precision") == "single" or tolerance < ROUNDED
    bound_n = tolerance * np.maximum(1, np.abs(levels.energy_n))
    if rounded and levels.converged and (levels.residual_n > bound_n).any():
        found.append(
            f"Residuals stay above tolerance = {tolerance:g}, up to {levels.residual_n.max():.1e} MeV: the rounding of "
            f"{levels.solver['precision']} precision, which the solver does not see."
        )
    if levels.spurious_n.any():
        found.append(
            "cm: the centre of mass is excited; these are no states of the nucleus and are left out of Ex and of the "
            "transitions. A larger lawson lifts them."
        )
    elif ((quanta_n > IMPURE) & (levels.residual_n <= KNOWN)).any():
        found.append(
            f"Warning: <N_cm> is up to {quanta_n.max():.2g}: the motion of the centre of mass does not separate in "
            "this basis. Limits by Nmax alone, and lawson > 0, make it."
        )
    j_n = levels.twice_j_n / 2
    no_spin = np.flatnonzero(np.abs(levels.j_n * (levels.j_n + 1) - j_n * (j_n + 1)) > MIXED)
    if len(no_spin):
        which = ", ".join(f"{n + 1} ({levels.j_n[n]:.3f})" for n in no_spin)
        found.append(
            f"Warning: J from <J^2> is no {'half-' if levels.twice_j_n[0] % 2 else ''}integer in state {which}: it is "
            "not converged, or states of one energy are mixed. Take a smaller tolerance, a block, or lawson > 0."
        )
    if levels.about.get("srg_lambda") is not None:
        found.append(_left_out(levels))
    if levels.about.get("not_computed"):
        found.append(f"Not computed, without meaning outside a core: {', '.join(levels.about['not_computed'])}.")
    return found


def _left_out(levels: Levels) -> str:
    """What an evolved interaction lacks, with its size where it is known."""
    words = (
        f"srg_lambda = {number_text(levels.about['srg_lambda'])}: forces between three and more nucleons that the "
        "evolution induces are left out, so energies depend on lambda (not those of two nucleons); radii and moments "
        "are those of unevolved operators."
    )
    if COULOMB_LEFT in levels.values:
        size_n = 1e3 * np.asarray(levels.values[COULOMB_LEFT])
        words += (
            f" The Coulomb repulsion is not evolved: between two protons that would move the lowest state by "
            f"{size_n[0]:+.1f} keV (first order; at most {size_n[np.abs(size_n).argmax()]:+.1f} in these states); "
            "what that would induce between three nucleons comes on top and may be larger (3He at 1.6 fm^-1: 9 keV)."
        )
    return words


def _nonzeros(levels: Levels) -> str:
    """0 stands for what nobody counted: each state has its diagonal element at least."""
    return f"{levels.nonzeros} nonzeros (lower triangle)" if levels.nonzeros else "nonzeros not counted in this basis"


def _head(levels: Levels) -> list[str]:
    about = levels.about
    lines = [str(about["title"])]
    lines.append(
        f"{levels.dimension} many-body states, {_nonzeros(levels)}; "
        f"parity {'+' if levels.parity > 0 else '-'}"
    )
    if levels.solver:
        solver = levels.solver
        lines.append(
            f"{solver['method']} with {solver['backend']} in {solver['precision']} precision: {solver['products']} "
            f"products; build {solver['build_seconds']:.1f} s, solve {solver['solve_seconds']:.1f} s"
        )
    return lines


def _energies(levels: Levels) -> list[str]:
    lines = ["  n     J     #       T      E (MeV)   Ex (MeV)   residual"]
    order_n, excited_n = levels.order_n, levels.excited_n
    for n, energy in enumerate(levels.energy_n):
        lines.append(
            f"{n + 1:3d} {levels.label(n):>6s} {order_n[n] or '-':>4} {_cell(levels.isospin_n[n], '.3f'):>8s} "
            f"{energy:12.4f} {'cm' if levels.spurious_n[n] else format(excited_n[n], '.4f'):>10s} "
            f"{levels.residual_n[n]:10.1e}"
        )
    return lines + remarks(levels)


def _columns(levels: Levels, columns: Iterable[Column]) -> list[str]:
    columns = list(columns)
    lines = ["  n     J " + "".join(f"{head:>12s}" for _, head, _ in columns)]
    for n in range(len(levels.energy_n)):
        cells = "".join(f"{_cell(levels.values[name][n], form):>12s}" for name, _, form in columns)
        lines.append(f"{n + 1:3d} {levels.label(n):>6s}{cells}")
    return lines


def _hidden(levels: Levels) -> bool:
    return bool(np.isnan(levels.values["mu"]).any())


def _cell(value: float, form: str) -> str:
    return "-" if np.isnan(value) else format(value, form)


def _quanta(levels: Levels) -> list[str]:
    if "quanta" not in levels.values:
        return []
    share_nx = levels.values["quanta"]
    first = int(levels.about.get("least_excitation", 0))
    lines = ["", "Probability of oscillator quanta above the minimum"]
    lines.append("  n     J " + "".join(f"{first + 2 * step:9d}" for step in range(share_nx.shape[1])))
    for n, share_x in enumerate(share_nx):
        lines.append(f"{n + 1:3d} {levels.label(n):>6s} " + "".join(f"{share:9.5f}" for share in share_x))
    return lines


def _occupations(levels: Levels) -> list[str]:
    lines = []
    for species, word in (("p", "Protons"), ("n", "Neutrons")):
        if f"occupations_{species}" not in levels.values or not levels.values[f"occupations_{species}"].any():
            continue  # also of a species that is not there
        lines += ["", f"{word} in the orbitals"]
        occupation_nx = levels.values[f"occupations_{species}"]
        for a, name in enumerate(orbital_names(levels, species)):
            if occupation_nx[:, a].max() > 5e-4:
                lines.append(f"{name:>8s} " + "".join(f"{value:9.4f}" for value in occupation_nx[:, a]))
    return lines


def orbital_names(levels: Levels, species: str) -> list[str]:
    """The orbitals as people write them, 0p3/2."""
    letters = "spdfghiklmnoqrtuvwxyz"
    rows = levels.orbitals[species]
    return [f"{n}{letters[l] if l < len(letters) else f'[{l}]'}{twice_j}/2" for n, l, twice_j in rows.tolist()]


def _strengths(levels: Levels) -> list[str]:
    kinds = [kind for kind in ("M1", "E2") if kind in levels.transitions]
    if not kinds:
        return []
    lines = ["", "Transitions, initial -> final: B(M1) (nuclear magnetons^2), B(E2) (e^2 fm^4)"]
    own = np.flatnonzero(~levels.spurious_n).tolist()
    for place, initial in enumerate(own):
        for final in own[:place]:
            cells = [_strength(levels, kind, final, initial) for kind in kinds]
            if any(cells):
                names = " -> ".join(f"{levels.label(n)} #{levels.order_n[n]}" for n in (initial, final))
                lines.append(f"{names:>20s}  " + "  ".join(filter(None, cells)))
    if any("= -" in line for line in lines):
        lines.append(f"-: M = {half(int(levels.about['twice_M']))} cannot tell these; another M shows them")
    return lines


def _strength(levels: Levels, kind: str, final: int, initial: int) -> str:
    reduced = levels.transitions[kind][final, initial]
    if np.isnan(reduced):
        return f"B({kind}) = -"
    if abs(reduced) < 1e-10:
        return ""
    return f"B({kind}) = {reduced**2 / (levels.twice_j_n[initial] + 1):.5f}"
