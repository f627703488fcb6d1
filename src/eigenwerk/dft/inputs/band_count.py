"""NBANDS: the default by all that has a say in it, and a word about one that is given and too small."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum

import numpy as np

from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.dataset import DataSet, hund_moment
from eigenwerk.dft.default_bands import Filling, default_bands, fewest_bands, smearing_window, thermal_bands
from eigenwerk.dft.inputs.findings import Findings
from eigenwerk.dft.inputs.settings import Computed, line_of, number, whole
from eigenwerk.io.vasp.incar import Incar
from eigenwerk.units import HARTREE_EV

FULL = 1e-6
"""Electrons short of filling all bands that are none."""


@dataclass(frozen=True, eq=False)
class Electrons:
    """What bands have to hold: NELECT, valence electrons of the neutral cell, NUPDOWN (None: free)."""

    count: float
    neutral: float
    fixed_moment: float | None

    @property
    def fewest(self) -> int:
        """Bands that hold them."""
        return fewest_bands(self.count, self.fixed_moment or 0.0)

    @property
    def words(self) -> str:
        """The electrons with a moment that is fixed."""
        return f"{self.count:g} electrons" + (f" with moment {self.fixed_moment:g}" if self.fixed_moment else "")


def likely_moment(
    incar: Incar, structure: Structure, datasets: Mapping[str, DataSet], fixed: float | None
) -> float:
    """Bohr magnetons that bands should have room for: the larger one of NUPDOWN and the sum of |MAGMOM|, where that is
    not given at least what Hund's rule gives to open f shells; 0 without spin."""
    if structure.magmom_a is None:
        return 0.0
    size_a = np.abs(structure.magmom_a)
    if not incar.values.get("MAGMOM"):
        hund = {symbol: hund_moment(data.header.states, least_l=3) for symbol, data in datasets.items()}
        size_a = np.maximum(size_a, [hund.get(symbol, 0.0) for symbol in structure.symbols])
    return max(float(size_a.sum()), fixed or 0.0)


def filling_of(
    incar: Incar, structure: Structure, datasets: Mapping[str, DataSet], electrons: Electrons
) -> Filling:
    """All that asks for bands besides electrons and atoms."""
    states = [one for symbol in structure.symbols for one in datasets[symbol].header.states if one.f > 0]
    open_shells = (one for one in states if one.l >= 2)
    return Filling(
        moment=likely_moment(incar, structure, datasets, electrons.fixed_moment), neutral=electrons.neutral,
        valence_states=sum(2 * one.l + 1 for one in states),
        empty_states=fsum(2 * one.l + 1 - one.f / 2 for one in open_shells),
        window=smearing_window(whole(incar, "ISMEAR"), number(incar, "SIGMA")) / HARTREE_EV,
        volume=abs(float(np.linalg.det(structure.lattice_cv))),
    )  # fmt: skip


def band_count(
    incar: Incar, structure: Structure, datasets: Mapping[str, DataSet], electrons: Electrons, most: int | None,
    findings: Findings,
) -> tuple[int, Computed]:  # fmt: skip
    """NBANDS, the user's own or `default_bands`; too few are an error that names the numbers.

    most: plane waves of the k-point that has fewest, None where they are not known.
    """
    filling, atoms = filling_of(incar, structure, datasets, electrons), len(structure.symbols)
    hot = thermal_bands(electrons.count, atoms, filling)
    default = max(default_bands(electrons.count, atoms, filling), electrons.fewest)
    if most is not None and default > most:
        # what is there for safety gives way; what smearing fills beyond is told at the end
        plain = default_bands(electrons.count, atoms, Filling(filling.moment))
        default = max(min(plain, default), most, electrons.fewest)
    given = incar.values.get("NBANDS")
    if not isinstance(given, int):
        return default, Computed(default, f"from the {', '.join(_reasons(electrons, filling, hot >= default))}")
    _check_given(incar, given, default, electrons, structure, hot, findings)
    return given, Computed(given, line_of(incar, "NBANDS"))


def _reasons(electrons: Electrons, filling: Filling, hot: bool) -> list[str]:
    """What the default follows from."""
    if hot:
        return ["electrons", "volume", "SIGMA"]
    reasons = ["electrons", "atoms"] if not filling.moment else ["electrons", "atoms", "moments"]
    return [*reasons, "charge"] if electrons.count > electrons.neutral + FULL else reasons


def _check_given(
    incar: Incar, given: int, default: int, electrons: Electrons, structure: Structure, hot: int, findings: Findings
) -> None:
    """A word about bands that are too few, or just enough."""
    remedy = f"Set NBANDS = {default}, or remove the line."
    moment_a, needed, ismear = structure.magmom_a, electrons.fewest, incar.get("ISMEAR")
    # those that the larger channel leaves, of an electron each
    largest = 2 * given - electrons.count
    # moments of an antiferromagnet may be there with full bands too
    asked = 0.0 if moment_a is None or electrons.fixed_moment is not None else abs(fsum(moment_a))
    if given < needed:
        message = f", but {electrons.words} need at least {needed} bands"
        findings.add(incar.problem("NBANDS", message, remedy))
    elif ismear == -2:
        pass  # occupations are what the user writes
    elif asked > FULL and abs(largest) < FULL:
        message = f"{given} bands of each spin are full with {electrons.count:g} electrons, "
        message += "so the moment can only be zero"
        findings.add(incar.problem("NBANDS", message, remedy, severity="warning"))
    elif asked > largest + FULL and incar.values.get("MAGMOM"):
        message = f"{given} bands of each spin leave {electrons.count:g} electrons no larger moment than {largest:g}"
        message += f", and MAGMOM begins with {asked:g}"
        findings.add(incar.problem("NBANDS", message, remedy, severity="warning"))
    elif given == needed and (electrons.fixed_moment or largest > FULL):
        words = "its highest band is filled in part" if not electrons.fixed_moment else "none is empty in one channel"
        message = f"{electrons.words} need no less, and {words}: nothing shows that levels above are higher"
        findings.add(incar.problem("NBANDS", message, remedy, severity="warning"))
    elif given == needed:
        message = "there is no empty band: right for an insulator, wrong for a metal"
        findings.add(incar.problem("NBANDS", message, severity="note"))
    elif given < hot:
        message = f"SIGMA = {number(incar, 'SIGMA'):g} fills states far above the Fermi level, some {hot} bands"
        findings.add(incar.problem("NBANDS", message, remedy, severity="warning"))
