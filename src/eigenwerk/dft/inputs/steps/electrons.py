"""Electrons, spin, bands and occupations as the INCAR file asks for them."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum

import numpy as np

from eigenwerk.dft.basis.plane_waves import PlaneWaveCounts
from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.filling.default_bands import BandDemand, default_bands, fewest_bands, smearing_window, thermal_bands
from eigenwerk.dft.settings.dataset import DataSet, closed_shell_electrons, hund_moment
from eigenwerk.dft.settings.findings import Findings
from eigenwerk.dft.settings.tags_in_force import DEFAULT, Computed, line_of, number, whole
from eigenwerk.io.vasp.input.incar import Incar
from eigenwerk.io.vasp.input.poscar import Poscar
from eigenwerk.units import HARTREE_EV

ListedWaves = tuple[tuple[KPoints, PlaneWaveCounts], ...]
"""k-points whose bands come besides, with their plane waves."""

NEUTRAL = 1e-8
"""A cell whose charge is smaller counts as neutral."""

SUM_TOLERANCE = 1e-4
"""Fixed occupations may miss the number of electrons by this much."""

FULL = 1e-6
"""Electrons short of filling all bands that are none."""

LARGEST_CHARGE = 4.0
"""Ions and charged defects rarely hold more; a cell of many atoms, like a doped metal, no more than one for each."""


def starting_moments(
    incar: Incar, poscar: Poscar, fixed_moment: float | None, findings: Findings
) -> tuple[np.ndarray | None, Computed]:
    """MAGMOM, one number for each atom; None without spin.

    By default 1, or with a fixed moment (NUPDOWN) its share of each atom.  Numbers beyond the atoms are not used.
    """
    atoms = len(poscar.symbols)
    given = incar.values.get("MAGMOM")
    if incar.get("ISPIN") != 2:
        if given is not None and not incar.broken("ISPIN"):
            findings.add(incar.problem("MAGMOM", "accepted and ignored: it acts only with ISPIN = 2", severity="note"))
        return None, Computed(None)
    if not isinstance(given, tuple):
        return _default_moments(incar, atoms, fixed_moment, findings)
    if len(given) < atoms:
        message = f"there are {len(given)} moments for {atoms} atoms"
        findings.add(incar.problem("MAGMOM", message, f"Give one number for each atom; {atoms}*1 repeats a value."))
        return np.ones(atoms), Computed(None)
    if len(given) > atoms:
        hint = " Three numbers for each atom belong to noncollinear magnetism." if len(given) == 3 * atoms else ""
        message = f"there are {len(given)} moments for {atoms} atoms: those beyond the first {atoms} are not used"
        remedy = f"Give one number for each atom, in the order of POSCAR.{hint}"
        findings.add(incar.problem("MAGMOM", message, remedy, severity="warning"))
        given = given[:atoms]
    if not any(given):
        message = "all starting moments are zero, so the result will not be magnetic"
        remedy = "Give moments somewhat larger than those expected, or set ISPIN = 1."
        if fixed_moment:
            message = f"all starting moments are zero, and NUPDOWN = {fixed_moment:g} is found from there"
            remedy = "Remove MAGMOM: each atom then starts with its share."
        findings.add(incar.problem("MAGMOM", message, remedy, severity="warning"))
    return np.array(given), Computed(given, line_of(incar, "MAGMOM"))


def _default_moments(
    incar: Incar, atoms: int, fixed: float | None, findings: Findings
) -> tuple[np.ndarray, Computed]:
    if fixed is None:
        return np.ones(atoms), Computed((1.0,) * atoms, DEFAULT)
    if not fixed:
        message = "MAGMOM is not given, so all moments start from zero, and the result will not be magnetic"
        remedy = "For an antiferromagnet give MAGMOM, with a sum of zero."
        findings.add(incar.problem("NUPDOWN", message, remedy, severity="note"))
    share = fixed / atoms
    return np.full(atoms, share), Computed((share,) * atoms, "NUPDOWN, shared by the atoms")


def electron_count(
    incar: Incar, poscar: Poscar, datasets: dict[str, DataSet], findings: Findings
) -> tuple[float | None, Computed]:
    """NELECT; by default the sum of the valences.  None if a data set is missing."""
    if set(poscar.symbols) - datasets.keys():
        return None, Computed(None)
    neutral = fsum(datasets[symbol].header.valence for symbol in poscar.symbols)
    given = incar.values.get("NELECT")
    if not isinstance(given, float):
        return neutral, Computed(neutral, "sum of the valences")
    charge = neutral - given
    if abs(charge) > NEUTRAL:
        message = (
            f"the data sets bring {neutral:g} electrons; the cell has charge {charge:+g}, balanced by a uniform "
            "background. Its energy depends on the size of the cell; corrections are said at the end, and added nowhere"
        )
        severity, remedy = "note", ""
        if abs(charge) > max(LARGEST_CHARGE, len(poscar.symbols)):
            what = "removed from" if charge > 0 else "added to"
            message += f". {abs(charge) / len(poscar.symbols):.3g} electrons {what} each atom are hardly meant: NELECT "
            message += "counts the valences of these data sets, which are not those of every POTCAR"
            severity, remedy = "warning", f"For a neutral cell remove the line, or set NELECT = {neutral:g}."
        findings.add(incar.problem("NELECT", message, remedy, severity))
    return given, Computed(given, line_of(incar, "NELECT"))


def fixed_moment(incar: Incar, electrons: float, findings: Findings) -> float | None:
    """NUPDOWN; None when it is free."""
    moment = incar.values.get("NUPDOWN")
    if not isinstance(moment, float) or moment < 0.0:
        return None
    if incar.get("ISPIN") != 2:
        if not incar.broken("ISPIN"):
            remedy, severity = ("Set ISPIN = 2, or remove the line.", "warning") if moment else ("", "note")
            words = "accepted and ignored: it acts only with ISPIN = 2"
            findings.add(incar.problem("NUPDOWN", words, remedy, severity))
        return None
    if moment > electrons:
        message = f"this is more than the {electrons:g} electrons"
        findings.add(incar.problem("NUPDOWN", message, "Set a smaller moment."))
        return None
    if incar.get("ISMEAR") == -2:
        message = "with ISMEAR = -2 the occupations fix the moment themselves"
        findings.add(incar.problem("NUPDOWN", message, "Remove NUPDOWN."))
        return None
    return moment


def check_pairs(incar: Incar, electrons: float, findings: Findings) -> None:
    """Unpaired electrons of a molecule: some where their number is odd, and as many as NUPDOWN can have."""
    if incar.get("ISPIN") == 1 and round(electrons) % 2:
        findings.note(incar.file, f"a molecule with {electrons:g} electrons has an unpaired spin", "Set ISPIN = 2.")
    moment = incar.values.get("NUPDOWN") if incar.get("ISPIN") == 2 else None
    if not isinstance(moment, float) or moment < 0 or not (electrons.is_integer() and moment.is_integer()):
        return
    if (electrons - moment) % 2:
        up, down = (electrons + moment) / 2, (electrons - moment) / 2
        message = f"{electrons:g} electrons of a molecule have it with {up:g} up and {down:g} down, and so half a level"
        remedy = f"Set NUPDOWN = {abs(moment - 1):g} or {moment + 1:g}."
        findings.add(incar.problem("NUPDOWN", message, remedy, severity="warning"))


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
) -> BandDemand:
    """All that asks for bands besides electrons and atoms."""
    states = [one for symbol in structure.symbols for one in datasets[symbol].header.states if one.f > 0]
    open_shells = [one for one in states if one.l >= 2]
    closed = fsum(closed_shell_electrons(symbol, datasets[symbol].header.states) for symbol in structure.symbols)
    f_shells = [one for one in open_shells if one.l == 3 and one.f < 14 and electrons.count > closed + FULL]
    return BandDemand(
        moment=likely_moment(incar, structure, datasets, electrons.fixed_moment), neutral=electrons.neutral,
        valence_states=sum(2 * one.l + 1 for one in states),
        empty_states=fsum(2 * one.l + 1 - one.f / 2 for one in open_shells),
        window=smearing_window(whole(incar, "ISMEAR"), number(incar, "SIGMA")) / HARTREE_EV,
        volume=abs(float(np.linalg.det(structure.lattice_cv))), localised=fsum(7 - one.f / 2 for one in f_shells),
    )  # fmt: skip


def _neutral(structure: Structure, datasets: Mapping[str, DataSet]) -> float:
    return sum(datasets[symbol].header.valence for symbol in structure.symbols)


def fewest_waves(waves: PlaneWaveCounts | None, listed: ListedWaves | None) -> int | None:
    """Plane waves of the k-point that has fewest, None where they are not known."""
    return None if waves is None else min(one.fewest for one in (waves, *(counts for _, counts in listed or ())))


def check_waves_of_bands(
    incar: Incar, bands: int, waves: PlaneWaveCounts, listed: ListedWaves, findings: Findings
) -> None:
    """There must be as many plane waves as bands."""
    fewest = fewest_waves(waves, listed)
    if fewest is not None and bands > fewest:
        message = f"{bands} bands are more than the {fewest} plane waves of one k-point"
        given = "NBANDS" in incar.values
        remedy = "Raise ENCUT, or set a smaller NBANDS." if given else "Raise ENCUT."
        findings.add(incar.problem("NBANDS" if given else "ENCUT", message, remedy))


def charge_of_cell(
    structure: Structure, datasets: Mapping[str, DataSet], electrons: float
) -> tuple[float, dict[str, Computed]]:
    """Valence electrons less NELECT; without a charge EPSILON is not in force."""
    charge = _neutral(structure, datasets) - electrons
    return charge, {"EPSILON": Computed(None)} if abs(charge) <= NEUTRAL else {}


def band_count(
    incar: Incar, structure: Structure, datasets: Mapping[str, DataSet], electrons: float, fixed_moment: float | None,
    waves: PlaneWaveCounts | None, listed: ListedWaves | None, findings: Findings,
) -> tuple[int, Computed]:  # fmt: skip
    """NBANDS, the user's own or `default_bands`; too few are an error that names the numbers."""
    held, most = Electrons(electrons, _neutral(structure, datasets), fixed_moment), fewest_waves(waves, listed)
    filling, atoms = filling_of(incar, structure, datasets, held), len(structure.symbols)
    hot = thermal_bands(electrons, atoms, filling)
    default = max(default_bands(electrons, atoms, filling), held.fewest)
    if most is not None and default > most:
        # what is there for safety gives way; what smearing fills beyond is told at the end
        plain = default_bands(electrons, atoms, BandDemand(filling.moment))
        default = max(min(plain, default), most, held.fewest)
    given = incar.values.get("NBANDS")
    if not isinstance(given, int):
        return default, Computed(default, f"from the {', '.join(_reasons(held, filling, hot >= default))}")
    _check_given(incar, given, default, held, structure, hot, findings)
    return given, Computed(given, line_of(incar, "NBANDS"))


def _reasons(electrons: Electrons, filling: BandDemand, hot: bool) -> list[str]:
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


def fixed_occupations(
    incar: Incar, electrons: float, bands: int, kpoints: KPoints | None, findings: Findings
) -> tuple[tuple[float, ...], ...] | None:
    """FERWE and FERDO for ISMEAR = -2, one row for each spin channel; None for other smearings or after an error."""
    tags = ("FERWE", "FERDO") if incar.get("ISPIN") == 2 else ("FERWE",)
    if incar.get("ISMEAR") != -2:
        for tag in ("FERWE", "FERDO"):
            if tag in incar.values and not incar.broken("ISMEAR"):
                message = "accepted and ignored: it acts only with ISMEAR = -2"
                findings.add(incar.problem(tag, message, severity="note"))
        return None
    points = None if kpoints is None else len(kpoints.point_kc)
    rows = [_occupation_row(incar, tag, bands, points, findings) for tag in tags]
    found = tuple(row for row in rows if row is not None)
    if len(found) < len(tags):
        return None
    total = (2.0 if len(tags) == 1 else 1.0) * fsum(f for row in found for f in row)
    if abs(total - electrons) > SUM_TOLERANCE:
        message = f"the occupations hold {total:g} electrons, but there are {electrons:g}"
        findings.add(incar.problem("FERWE", message, f"Change the occupations, or set NELECT = {total:g}."))
    return found


def _occupation_row(
    incar: Incar, tag: str, bands: int, kpoints: int | None, findings: Findings
) -> tuple[float, ...] | None:
    """Occupations of one spin channel, one number for each band, or for each band of each k-point if these agree."""
    values = incar.values.get(tag)
    if not isinstance(values, tuple):
        if tag not in incar.raw:
            findings.add(incar.problem("ISMEAR", f"the tag {tag} is missing", f"Give {bands} occupations by {tag}."))
        return None
    wrong = [value for value in values if not 0.0 <= value <= 1.0]
    if wrong:
        message = f"the occupation {wrong[0]:g} is outside 0 to 1"
        findings.add(incar.problem(tag, message, "Occupations count one spin channel: 1 is full, also with ISPIN = 1."))
        return None
    if len(values) != bands and len(values) != bands * (kpoints or 1):
        points = f" at {kpoints} k-points" if kpoints and kpoints > 1 else ""
        message = f"there are {len(values)} occupations for {bands} bands{points}"
        findings.add(incar.problem(tag, message, f"Give {bands} numbers, or set NBANDS = {len(values)}."))
        return None
    rows = {values[start : start + bands] for start in range(0, len(values), bands)}
    if len(rows) > 1:
        message = "occupations that differ between k-points are not available"
        findings.add(incar.problem(tag, message, f"Give {bands} numbers, which then hold for all k-points."))
        return None
    return rows.pop()
