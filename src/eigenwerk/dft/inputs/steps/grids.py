"""FFT grids: automatic, or by NGX ... NGZF."""

from math import prod

from eigenwerk.dft.basis.grids import (
    LEAST_FACTOR,
    PRECISION_FACTOR,
    GridSizes,
    choose_grids,
    fine_room,
    room,
    sphere_radius,
)
from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import equivalent_axes, translation_denominators
from eigenwerk.dft.settings.findings import Findings
from eigenwerk.dft.settings.tags_in_force import Computed, line_of
from eigenwerk.io.paw.paw_library import density_loss_eV
from eigenwerk.io.vasp.input.incar import Incar
from eigenwerk.io.vasp.input.poscar import Poscar
from eigenwerk.io.vasp.tags.start import PRESENT
from eigenwerk.units import HARTREE_EV

MOST_POINTS = 2**32
"""Of a grid: 34 GB for one real field, and a calculation holds dozens."""

WAVE_TAGS = ("NGX", "NGY", "NGZ")
FINE_TAGS = ("NGXF", "NGYF", "NGZF")


MOST_LOST = 1e-3
"""eV: PREC is Normal by default where no atom loses more by it."""


def choose_precision(
    incar: Incar, poscar: Poscar, cutoff: float | None, findings: Findings
) -> tuple[str, Computed]:
    """PREC, and where it comes from; in place of an old setting the one whose grids serve for it.

    By default Accurate where an element's density reaches far beyond the grid of Normal at this cutoff
    (`density_loss_eV`), so that Normal would change the energy of an atom by more than `MOST_LOST`; else Normal, and
    wherever the orbital grid is given.  A Normal that was asked for and loses more is told.
    """
    cutoff_eV = (cutoff or 0.0) * HARTREE_EV
    losses = {symbol: density_loss_eV(symbol, cutoff_eV) or 0.0 for symbol in poscar.symbols} if cutoff_eV else {}
    worst = max(losses, key=losses.__getitem__, default="")
    much = bool(worst) and losses[worst] > MOST_LOST
    lost = f"{1000 * losses[worst]:.2g}" if much else ""
    if "PREC" in incar.values:
        word = str(incar.values["PREC"])
        word = PRESENT.get(word, word)
        if much and word == "Normal":
            message = (
                f"the grid holds the density up to {PRECISION_FACTOR[word]:g} times the radius of the plane waves, "
                f"which at {cutoff_eV:g} eV changes the energy of an atom of {worst} by some {lost} meV"
            )
            findings.add(incar.problem("PREC", message, "Set PREC = Accurate, or remove the line.", severity="warning"))
        return word, Computed(word, line_of(incar, "PREC"))
    if much and not any(tag in incar.values for tag in WAVE_TAGS):
        return "Accurate", Computed("Accurate", f"Normal costs {lost} meV for {worst} at this ENCUT")
    return "Normal", Computed("Normal", "default")


def grid_sizes(
    incar: Incar, structure: Structure, kpoints: KPoints, cutoff: float, precision: str, findings: Findings
) -> tuple[GridSizes, dict[str, Computed]]:
    """Both grids and the origin of each of the six numbers.

    Numbers that are not given follow from precision (PREC) and the cutoff (hartree), those of the density grid from
    the orbital grid.  Given ones that cannot hold the plane waves of the density are errors with the smallest
    possible number.
    """
    symmetry = kpoints.symmetry
    denominators = translation_denominators(symmetry)
    automatic = choose_grids(structure, cutoff, precision, denominators, tuple(equivalent_axes(symmetry)))
    wave = _with_given(incar, WAVE_TAGS, automatic.wave)
    fine = _with_given(incar, FINE_TAGS, (2 * wave[0], 2 * wave[1], 2 * wave[2]))
    if prod(fine) > MOST_POINTS:
        findings.error(
            incar.file, f"the density grid has {fine[0]} x {fine[1]} x {fine[2]} points, more than any machine holds",
            "Look at the units of the lattice vectors and of ENCUT, and at NGXF, NGYF, NGZF.",
        )  # fmt: skip
    radius = sphere_radius(cutoff)
    needed = room(structure, LEAST_FACTOR * radius), room(structure, PRECISION_FACTOR[precision] * radius)
    _check_room(incar, WAVE_TAGS, needed[0], findings)
    _check_room(incar, FINE_TAGS, fine_room(structure, cutoff), findings)
    _tell_narrow(incar, needed, automatic.wave, precision, findings)
    for tag, denominator in zip((*WAVE_TAGS, *FINE_TAGS), 2 * denominators, strict=True):
        given = incar.values.get(tag)
        if isinstance(given, int) and given % denominator:
            message = f"symmetry translates by 1/{denominator} of this axis, which this grid does not hold"
            remedy = f"Choose a multiple of {denominator}; otherwise symmetry holds only up to the grid error."
            findings.add(incar.problem(tag, message, remedy, severity="warning"))
    origins = {
        tag: Computed(size, line_of(incar, tag) if tag in incar.values else origin)
        for tags, sizes, origin in ((WAVE_TAGS, wave, "from PREC and ENCUT"), (FINE_TAGS, fine, "from NGX, NGY, NGZ"))
        for tag, size in zip(tags, sizes, strict=True)
    }
    return GridSizes(wave, fine), origins


def by_hand(incar: Incar, grids: GridSizes) -> tuple[tuple[int, int, int] | None, tuple[int, int, int] | None]:
    """Both grids where INCAR has a say in them."""
    given = any(tag in incar.values for tag in (*WAVE_TAGS, *FINE_TAGS))
    return (grids.wave, grids.fine) if given else (None, None)


def _with_given(incar: Incar, tags: tuple[str, ...], automatic: tuple[int, int, int]) -> tuple[int, int, int]:
    sizes = [incar.values.get(tag, size) for tag, size in zip(tags, automatic, strict=True)]
    first, second, third = (size if isinstance(size, int) else 0 for size in sizes)
    return first, second, third


def _check_room(incar: Incar, tags: tuple[str, ...], needed: list[int], findings: Findings) -> None:
    for tag, points in zip(tags, needed, strict=True):
        given = incar.values.get(tag)
        if isinstance(given, int) and given < points:
            message = f", but the density of this cutoff needs at least {points} points"
            findings.add(incar.problem(tag, message, f"Set {tag} = {points} or more, or remove the line."))


def _tell_narrow(
    incar: Incar, needed: tuple[list[int], list[int]], automatic: tuple[int, int, int], precision: str,
    findings: Findings,
) -> None:  # fmt: skip
    """A warning about given orbital grids that hold less of the density than PREC means.

    needed: the points that they must have, and those of PREC; automatic: what they are if they are not given.
    """
    for tag, least, points, usual in zip(WAVE_TAGS, *needed, automatic, strict=True):
        given = incar.values.get(tag)
        if isinstance(given, int) and least <= given < points:
            message = (
                f"is coarser than PREC = {precision} means, {usual}: parts of the density are folded back, which costs "
                "up to 5 meV per atom in oxides and fluorides, and forces that depend on where the grid lies"
            )
            remedy = f"Set {tag} = {usual}, or remove the line, unless another program's grid is wanted."
            findings.add(incar.problem(tag, message, remedy, severity="warning"))
