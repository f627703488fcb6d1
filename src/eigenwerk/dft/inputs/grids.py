"""FFT grids: automatic, or by NGX ... NGZF."""

from math import prod

import numpy as np

from eigenwerk.dft.basis.grids import ELECTROSTATIC_FACTOR, PRECISION_FACTOR, GridSizes, choose_grids, sphere_radius
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import Symmetry, equivalent_axes, translation_denominators
from eigenwerk.dft.inputs.findings import Findings
from eigenwerk.dft.inputs.settings import Computed, line_of
from eigenwerk.io.vasp.incar import Incar
from eigenwerk.io.vasp.tags.start import PRESENT

MOST_POINTS = 2**32
"""Of a grid: 34 GB for one real field, and a calculation holds dozens."""

WAVE_TAGS = ("NGX", "NGY", "NGZ")
FINE_TAGS = ("NGXF", "NGYF", "NGZF")


def precision_of(incar: Incar) -> str:
    """PREC, in place of an old setting the one whose grids serve for it."""
    word = str(incar.get("PREC"))
    return PRESENT.get(word, word)


def grid_sizes(
    incar: Incar, structure: Structure, symmetry: Symmetry, cutoff: float, findings: Findings
) -> tuple[GridSizes, dict[str, Computed]]:
    """Both grids and the origin of each of the six numbers.

    Numbers that are not given follow from PREC and the cutoff (hartree), those of the density grid from the orbital
    grid.  Given ones that cannot hold the plane waves of the density are errors with the smallest possible number.
    """
    precision = precision_of(incar)
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
    _check_room(incar, WAVE_TAGS, _room(structure, PRECISION_FACTOR[precision] * radius), findings)
    _check_room(incar, FINE_TAGS, _room(structure, 2 * ELECTROSTATIC_FACTOR * radius), findings)
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


def _with_given(incar: Incar, tags: tuple[str, ...], automatic: tuple[int, int, int]) -> tuple[int, int, int]:
    sizes = [incar.values.get(tag, size) for tag, size in zip(tags, automatic, strict=True)]
    first, second, third = (size if isinstance(size, int) else 0 for size in sizes)
    return first, second, third


def _room(structure: Structure, radius: float) -> list[int]:
    """Points per axis that hold all plane waves within a radius: 2 floor(|G| |a_c| / 2π) + 1."""
    length_c = np.linalg.norm(structure.lattice_cv, axis=1)
    return [2 * int(radius * length / (2 * np.pi) + 1e-9) + 1 for length in length_c]


def _check_room(incar: Incar, tags: tuple[str, ...], needed: list[int], findings: Findings) -> None:
    for tag, points in zip(tags, needed, strict=True):
        given = incar.values.get(tag)
        if isinstance(given, int) and given < points:
            message = f", but the density of this cutoff needs at least {points} points"
            findings.add(incar.problem(tag, message, f"Set {tag} = {points} or more, or remove the line."))
