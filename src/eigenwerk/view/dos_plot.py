"""A picture of densities of states, total and of groups of atoms and orbitals; both spins as mirror images."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.io.vasp.output.record import DensityOfStates
from eigenwerk.perf.pictures import DARK, PALE, PALETTE, QUIET, SPINS, plain_axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BELOW, ABOVE = 15.0, 10.0
"""What is shown around zero, eV, unless the states end before."""

PARTS = ("none", "element", "l", "atom", "lm")
"""How the parts of atoms and orbitals can be put together; `l`: by element and angular momentum."""

MOST = 16
"""Curves of one picture; more cannot be told apart."""

SMALL = 0.03
"""Groups that stay below this share of the highest value are left out."""

MAGNETIC = 0.1
"""Moment (Bohr magnetons) from which on atoms of one element with other signs are groups of their own."""

LINES = ("-", "--", "-.", ":")

SMOOTH = 0.15
"""Levels of a mesh are spread to this width (eV) at least, because the mesh is not dense enough to be looked at."""


@dataclass(frozen=True, eq=False)
class DosCurves:
    """What is drawn.

    energy_x: (x,) eV, the middle of the interval of each value; total_sx: states per eV and cell; part: the same of
    groups, by their names.
    """

    energy_x: np.ndarray
    total_sx: np.ndarray
    part: dict[str, np.ndarray]


def dos_curves(
    dos: DensityOfStates, symbols: Sequence[str], parts: str = "l", atoms: Sequence[int] | None = None,
    moment_a: np.ndarray | None = None,
) -> DosCurves:  # fmt: skip
    """Curves of a density of states, whose values belong to the intervals before their energies.

    parts: one of PARTS; atoms: numbers from 1 of those whose parts are shown, None for all; moment_a: Bohr magnetons.
    Raises InputError for atoms that are not there.
    """
    middle_x = dos.energy_x - 0.5 * np.gradient(dos.energy_x)
    if dos.partial_sxaL is None or parts == "none":
        return DosCurves(middle_x, dos.total_sx, {})
    chosen = list(range(1, len(symbols) + 1)) if atoms is None else list(atoms)
    if not chosen or min(chosen) < 1 or max(chosen) > len(symbols):
        raise InputError(f"--atoms {','.join(map(str, chosen))}: there are atoms 1 to {len(symbols)}.")
    elements = _element_names(symbols, moment_a)
    group: dict[str, np.ndarray] = {}
    for a in chosen:
        for column, name in enumerate(dos.columns):
            element = f"{symbols[a - 1]} {a}" if parts == "atom" else elements[a - 1]
            orbital = {"element": "", "atom": "", "l": f" {_letter(name)}"}.get(parts, f" {name}")
            value_sx = dos.partial_sxaL[:, :, a - 1, column]
            group[element + orbital] = group.get(element + orbital, 0.0) + value_sx
    return DosCurves(middle_x, dos.total_sx, group)


def broadened(curves: DosCurves, width: float) -> DosCurves:
    """The same with every level spread by a Gaussian of a width (eV); a width below half the step changes nothing.

    D'(E_i) = Σ_j D(E_j) g(E_i - E_j) / Σ_j g(E_j),  g(E) = exp(-E² / 2 width²), so that integrals stay.
    """
    step = float(curves.energy_x[-1] - curves.energy_x[0]) / (len(curves.energy_x) - 1)
    if width < 0.5 * step:
        return curves
    reach = min(int(np.ceil(5 * width / step)), len(curves.energy_x))
    weight_x = np.exp(-0.5 * (np.arange(-reach, reach + 1) * step / width) ** 2)
    weight_x /= weight_x.sum()

    def spread(value_sx: np.ndarray) -> np.ndarray:
        return np.array([np.convolve(value_x, weight_x)[reach : len(value_x) + reach] for value_x in value_sx])

    part = {name: spread(value_sx) for name, value_sx in curves.part.items()}
    return DosCurves(curves.energy_x, spread(curves.total_sx), part)


def own_broadening(tags: Mapping[str, str]) -> float:
    """What is missing to SMOOTH; nothing with tetrahedra."""
    try:
        method, width = int(tags["ISMEAR"]), float(tags["SIGMA"])
    except (KeyError, ValueError):
        return 0.0
    return sqrt(max(SMOOTH**2 - width**2, 0.0)) if method >= -3 else 0.0


def _letter(column: str) -> str:
    """The angular momentum of a column: x2-y2 is a d orbital."""
    return "d" if column.startswith("x2") else column[0]


def _element_names(symbols: Sequence[str], moment_a: np.ndarray | None) -> list[str]:
    """Elements, and where atoms of one have moments of both signs, the sign behind it."""
    if moment_a is None:
        return list(symbols)
    sign_a = np.where(np.abs(moment_a) > MAGNETIC, np.sign(moment_a), 0)
    kinds = {symbol: {sign for one, sign in zip(symbols, sign_a, strict=True) if one == symbol} for symbol in symbols}
    words = {1: " (m > 0)", -1: " (m < 0)", 0: ""}
    return [
        symbol + (words[int(sign)] if {1, -1} <= kinds[symbol] else "")
        for symbol, sign in zip(symbols, sign_a, strict=True)
    ]


def parse_atoms(words: str) -> list[int]:
    """1,3-5 as numbers.  Raises InputError for anything else."""
    found: list[int] = []
    for part in words.split(","):
        ends = re.fullmatch(r"\s*([0-9]{1,6})\s*(?:-\s*([0-9]{1,6})\s*)?", part)
        if ends is None or int(ends[2] or ends[1]) < int(ends[1]):
            raise InputError(f"--atoms {words[:60]}: not a list of atoms. Write numbers from 1 on, like 1,3-5.")
        found += range(int(ends[1]), int(ends[2] or ends[1]) + 1)
    return list(dict.fromkeys(found))


def dos_figure(
    curves: DosCurves, zero: float, zero_words: str, title: str, window: tuple[float, float] | None = None
) -> "Figure":
    """Densities by energy.

    zero: energy that counts as zero, eV, and its name; window: energies that are shown, from there.  Raises ImportError
    if matplotlib is missing.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.4, 4.6), dpi=130, layout="constrained")
    plot_dos(figure.subplots(), curves, zero, zero_words, title, window)
    return figure


def plot_dos(
    axes: Any, curves: DosCurves, zero: float, zero_words: str, title: str, window: tuple[float, float] | None = None
) -> None:
    """The same into given axes."""
    energy_x = curves.energy_x - zero
    there_x = energy_x[(curves.total_sx.max(axis=0) > 1e-3 * curves.total_sx.max()) & (energy_x > -BELOW)]
    low, high = window or (max(-BELOW, there_x.min(initial=0.0) - 0.5), min(ABOVE, energy_x[-1]))
    draw_dos(axes, curves, zero, (low, high))
    axes.axvline(0.0, color=QUIET, linewidth=0.9, linestyle=":")
    axes.set_xlim(low, high)
    axes.set_xlabel(f"energy from the {zero_words} (eV)", fontsize=10)
    plain_axes(axes, title, "")


def draw_dos(
    axes: Any, curves: DosCurves, zero: float, window: tuple[float, float], upright: bool = False
) -> None:
    """Total (shaded) and groups, spin down to the other side; the legend stands outside.  upright: energies upwards."""
    energy_x = curves.energy_x - zero
    inside_x = (energy_x >= window[0]) & (energy_x <= window[1])
    if not inside_x.any():
        raise InputError(
            f"--energies {window[0]:g}:{window[1]:g}: the density of states reaches from {energy_x[0]:.1f} to "
            f"{energy_x[-1]:.1f} eV. Give energies from the zero of the picture, or set EMIN and EMAX in INCAR."
        )
    top = float(curves.total_sx[:, inside_x].max()) or 1.0
    shown = {name: part for name, part in curves.part.items() if float(part[:, inside_x].max()) > SMALL * top}
    if len(shown) > MOST:
        raise InputError(
            f"--parts: {len(shown)} curves cannot be told apart in one picture. Choose some --atoms, or --parts "
            "element."
        )
    spins = len(curves.total_sx)
    for s, sign in enumerate((1, -1)[:spins]):
        total_x = sign * curves.total_sx[s]
        (axes.fill_betweenx if upright else axes.fill_between)(energy_x, 0, total_x, color=PALE, linewidth=0)
        style = SPINS[s][1]
        _plot(axes, upright, energy_x, total_x, style, color=DARK, linewidth=0.9, label="" if s else "total")
        for number, (name, part_sx) in enumerate(shown.items()):
            colour, line = PALETTE[number % len(PALETTE)], LINES[number // len(PALETTE) * 2 + s]
            _plot(
                axes, upright, energy_x, sign * part_sx[s], line, color=colour, linewidth=1.3, label="" if s else name
            )
    if spins == 2:
        (axes.axvline if upright else axes.axhline)(0.0, color=DARK, linewidth=0.6)
        _name_spins(axes, upright)
    lowest = -1.06 * top if spins == 2 else 0.0
    (axes.set_xlim if upright else axes.set_ylim)(lowest, 1.06 * top)
    (axes.xaxis if upright else axes.yaxis).set_major_formatter(lambda value, _: f"{abs(value):g}")
    label = "density of states\n(states/eV per cell)" if upright else "density of states (states/eV per cell)"
    (axes.set_xlabel if upright else axes.set_ylabel)(label, fontsize=10)
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize=9, frameon=False, borderaxespad=0.0)


def _plot(axes: Any, upright: bool, energy_x: np.ndarray, value_x: np.ndarray, line: str, **how: Any) -> None:
    axes.plot(*((value_x, energy_x) if upright else (energy_x, value_x)), line, **how)


def _name_spins(axes: Any, upright: bool) -> None:
    """Which side is which, outside of the curves."""
    places = ((0.75, 1.01), (0.25, 1.01)) if upright else ((1.01, 0.06), (1.01, 0.0))
    names = ("up", "down") if upright else ("spin up: above, full lines", "spin down: below, dashed")
    for (x, y), words in zip(places, names, strict=True):
        axes.annotate(
            words, (x, y), xycoords="axes fraction", fontsize=8.5, color=DARK, ha="center" if upright else "left",
            va="bottom",
        )  # fmt: skip
