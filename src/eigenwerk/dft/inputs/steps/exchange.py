"""LHFCALC and its tags: exact exchange beside shares of a functional (no torch here)."""

from collections.abc import Iterable
from math import ceil

import numpy as np

from eigenwerk.dft.crystal.downsampling import EVEN, ODD, Downsampling
from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.crystal.madelung import screened_images
from eigenwerk.dft.exchange.pairs.mesh_points import mesh_points
from eigenwerk.dft.inputs.steps.bands import BandRequest
from eigenwerk.dft.settings.dataset import DataSet
from eigenwerk.dft.settings.exchange import WIGNER_SEITZ, exchange_range
from eigenwerk.dft.settings.findings import Findings
from eigenwerk.dft.settings.motion_kind import FIXED
from eigenwerk.dft.settings.tags_in_force import Computed, line_of, number_or
from eigenwerk.functionals.functional import Functional
from eigenwerk.functionals.hybrid import B3LYP, SHARES, Hybrid
from eigenwerk.functionals.table import LIBXC_HYBRIDS, SHORT_RANGES, find_functional
from eigenwerk.io.vasp.input.incar import Incar
from eigenwerk.lattice_reduction import heights
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV

REDUCTIONS = ("NKREDX", "NKREDY", "NKREDZ")
PARITIES = {"EVENONLY": EVEN, "ODDONLY": ODD}
ONLY_HYBRID = ("AEXX", "HFSCREEN", "CORE_EXCHANGE", "PRECFOCK", "NKRED", *REDUCTIONS, *PARITIES, "NBLOCK_FOCK")
"""Tags that mean nothing without LHFCALC."""

OF_B3LYP = ("B3", "B5")
"""Words of GGA that serve in hybrids alone, with the shares of B3LYP."""


MOST_SCREENED = 1000.0
"""1/Å: of what erfc(HFSCREEN r)/r leaves, grids around atoms see nothing."""

COARSE, FINE, SENSELESS = 0.05, 0.01, 20.0
"""eV by which levels are too low where a mesh is too coarse for a screened interaction, where that is nothing to speak
of, and where nothing else is left."""

LENGTHS = range(5, 120, 2)
"""bohr that a crystal may have to be long for a screened interaction."""

MOST_EXACT = 2.0
"""Of the exchange of Hartree and Fock; more is a mistake, more than 1 worth a word."""

SHARES_WITHIN = -1.0, 2.0
"""Fractions of a functional; what lies beyond is a mistake, what is negative worth a word."""


def hybrid_of(
    incar: Incar, functional: Functional, findings: Findings
) -> tuple[Hybrid | None, dict[str, Computed]]:
    """What INCAR says of exact exchange and of shares of a functional, None if all of it counts; tags in force.

    Problems go to the findings; the hybrid is None then, too, where it makes no sense.
    """
    if not incar.get("LHFCALC"):
        return _without(incar, functional, findings)
    known = _known(incar, functional)
    fraction = number_or(incar, "AEXX", known.fraction)
    shares = known if fraction == known.fraction else Hybrid.of(fraction)
    none = fraction == 1.0 and known != B3LYP  # Hartree-Fock, unless INCAR says more
    values = {tag: number_or(incar, tag, 0.0 if none else getattr(shares, field)) for tag, field in SHARES.items()}
    screening = number_or(incar, "HFSCREEN", known.screening / BOHR_ANGSTROM)
    found = Hybrid(fraction, screening * BOHR_ANGSTROM, **{SHARES[tag]: value for tag, value in values.items()})
    origins = {"AEXX": fraction, "HFSCREEN": screening, **values}
    computed = {
        tag: Computed(value, line_of(incar, tag) if tag in incar.values else _origin(functional, known))
        for tag, value in origins.items()
    }
    _doubts(incar, functional, found, findings)
    return (found if _exists(functional, found) else None), computed


def _known(incar: Incar, functional: Functional) -> Hybrid:
    """The defaults: of a functional that is named as a hybrid, of B3LYP, else a quarter of exact exchange."""
    if str(incar.get("GGA")) == "LIBXC":
        named = LIBXC_HYBRIDS.get(str(incar.get("LIBXC1", "")).upper().removeprefix("XC_"))
        if named is not None:
            return named[1]
    return B3LYP if functional.tag in OF_B3LYP else Hybrid.of(0.25)


def _origin(functional: Functional, known: Hybrid) -> str:
    if known == B3LYP:
        return "of B3LYP"
    return "from LIBXC1" if known != Hybrid.of(0.25) else "from LHFCALC and AEXX"


def _doubts(incar: Incar, functional: Functional, hybrid: Hybrid, findings: Findings) -> None:
    """What stands against a calculation with exact exchange, or deserves a word."""
    if hybrid.fraction < 0.0:
        message = "a negative fraction of exact exchange is not available"
        findings.add(incar.problem("AEXX", message, "Set AEXX between 0 and 1."))
    elif hybrid.fraction > MOST_EXACT:
        message = f"a fraction of exact exchange of {hybrid.fraction:g}, and above {MOST_EXACT:g} nothing converges"
        findings.add(incar.problem("AEXX", message, "Set AEXX between 0 and 1 (0.25: PBE0; 1: Hartree-Fock)."))
    elif hybrid.fraction > 1.0:
        findings.add(incar.problem("AEXX", "a fraction of exact exchange outside 0 to 1", severity="warning"))
    _check_shares(incar, findings, f" (with AEXX = {hybrid.fraction:g})")
    written, word = incar.raw.get("PRECFOCK", "").split(), str(incar.values.get("PRECFOCK", ""))
    if word and written and len(written[0].rstrip(",")) < len(word):
        findings.add(incar.problem("PRECFOCK", f"read as {word} by its first letter", severity="note"))
    if hybrid.screening > MOST_SCREENED * BOHR_ANGSTROM:
        message = "this screening leaves nothing of the exact exchange"
        findings.add(incar.problem("HFSCREEN", message, "Set HFSCREEN = 0.2 (HSE06), or LHFCALC = .FALSE."))
    if incar.get("LDAU"):
        findings.add(incar.problem(
            "LDAU", "+U and exact exchange correct the same error, and both together are not available",
            "Remove LDAU, or set LHFCALC = .FALSE.",
        ))  # fmt: skip
    if not _exists(functional, hybrid):
        known = ", ".join(tag for tag in SHORT_RANGES if find_functional(tag).offered)
        message = f"there is no screened exchange of {functional.title}, so no screened hybrid of it"
        findings.add(incar.problem("HFSCREEN", message, f"Set HFSCREEN = 0, or choose GGA among {known}."))
    if incar.get("CORE_EXCHANGE") == "Screened" and not hybrid.screening:
        message = "the exact exchange of this hybrid is not screened at all (HFSCREEN = 0)"
        findings.add(incar.problem("CORE_EXCHANGE", message, "Set HFSCREEN = 0.2, or remove the line."))
    if incar.values.get("ICHARG") in FIXED:
        message = "a hybrid's potential depends on the orbitals, not on the density alone, so no density can be kept"
        remedy = "Give bands in KPOINTS_OPT, or as k-points of weight 0, in a self-consistent run."
        findings.add(incar.problem("ICHARG", message, remedy))
    for tag in ("ALGO", "IALGO"):
        if tag in incar.values and not incar.broken(tag):
            message = "it finds the orbitals for each operator of exact exchange; these follow by a rule of their own"
            findings.add(incar.problem(tag, message, severity="note"))
    if functional.tag in OF_B3LYP and not set(SHARES) & set(incar.values):
        message = "AGGAX = 0.72, ALDAX = 0.8, AGGAC = 0.81, ALDAC = 0.19 are taken, as in B3LYP; in VASP write them"
        findings.add(incar.problem("GGA", message, severity="note"))


def _check_shares(incar: Incar, findings: Findings, beside: str = "") -> None:
    """Fractions of the functional that INCAR gives, within bounds; beside: more words."""
    low, high = SHARES_WITHIN
    for tag in SHARES:
        value = number_or(incar, tag, 1.0)
        if not low <= value <= high:
            message = f"a fraction of the functional of {value:g}, far outside 0 to 1{beside}"
            findings.add(incar.problem(tag, message, f"Set {tag} between 0 and 1, or remove the line."))
        elif value < 0.0:
            findings.add(incar.problem(tag, f"a negative fraction of the functional{beside}", severity="warning"))


def _exists(functional: Functional, hybrid: Hybrid) -> bool:
    return not hybrid.screening or functional.tag in SHORT_RANGES


def _without(
    incar: Incar, functional: Functional, findings: Findings
) -> tuple[Hybrid | None, dict[str, Computed]]:
    """Without LHFCALC: shares of the functional may still be other than 1."""
    computed = {tag: Computed(None) for tag in ONLY_HYBRID}
    if not incar.broken("LHFCALC"):
        for tag in ONLY_HYBRID:
            usual = (0.0, "Screened") if tag in ("AEXX", "HFSCREEN") else (0, 1, "Screened")
            if incar.values.get(tag, 0) not in usual or incar.values.get(tag) is True:
                severity = "warning" if tag in ("AEXX", "HFSCREEN") else "note"
                message = f"not used: it acts only with LHFCALC = .TRUE.; this is a calculation with {functional.title}"
                findings.add(incar.problem(tag, message, severity=severity))
        if incar.get("CORE_EXCHANGE") == "Screened":
            message = f"there is no exact exchange to screen in a calculation with {functional.title}"
            remedy = "Set LHFCALC = .TRUE. and HFSCREEN = 0.2, or remove the line."
            findings.add(incar.problem("CORE_EXCHANGE", message, remedy))
        if functional.tag in OF_B3LYP:
            message = f"{functional.title} serve in B3LYP alone, which has 20 % of exact exchange"
            findings.add(incar.problem("GGA", message, "Set LHFCALC = .TRUE., or choose another functional."))
        elif str(incar.get("LIBXC1", "")).upper().removeprefix("XC_") in LIBXC_HYBRIDS:
            findings.add(incar.problem("LIBXC1", "a hybrid, but LHFCALC is not set", "Set LHFCALC = .TRUE."))
    _check_shares(incar, findings)
    values = {tag: number_or(incar, tag, 1.0) for tag in SHARES}
    computed |= {tag: Computed(1.0, "default") for tag in SHARES if tag not in incar.values}
    if all(value == 1.0 for value in values.values()):
        return None, computed
    if functional.shares is None:
        if _only_gas_left(functional, values):
            return None, computed
        given = next(tag for tag in SHARES if values[tag] != 1.0)
        message = f"there are no shares of {functional.title}, but all of it"
        findings.add(incar.problem(given, message, "Name exchange and correlation by themselves in GGA, or by a tag."))
        return None, computed
    return Hybrid(0.0, 0.0, **{SHARES[tag]: value for tag, value in values.items()}), computed


def _only_gas_left(functional: Functional, values: dict[str, float]) -> bool:
    """Whether AGGAC = 0 takes from a sum of libxc's parts what it has not."""
    others = all(value == 1.0 for tag, value in values.items() if tag != "AGGAC")
    return others and not any(part.startswith("gga_c") for part in functional.libxc)


def check_points_of_exchange(
    kpoints: KPoints, lattice_cv: np.ndarray, hybrid: Hybrid | None, file: str, findings: Findings
) -> bool:
    """k-points that exact exchange can sum over, and enough of them; whether there is a word about too few.

    lattice_cv: bohr; hybrid: None where INCAR has errors.
    """
    single = len(kpoints.point_kc) == 1 and not kpoints.point_kc.any()
    if kpoints.irreducible_of_full is None and not single and hybrid is not None and not hybrid.screening:
        findings.error(
            file, f"exact exchange of 1/r (LHFCALC) needs a mesh of k-points, and this is the {kpoints.source}, whose "
            f"images under the {kpoints.symmetry.order} operations of the crystal are no regular mesh of equal weights",
            "Give a mesh, its irreducible points with their weights, or set HFSCREEN = 0.2.",
        )  # fmt: skip
    cells_cc = np.eye(3) if single else kpoints.cells_cc
    if hybrid is None or not hybrid.screening or cells_cc is None:
        return False
    error = level_error(cells_cc.T @ lattice_cv, hybrid)
    if error <= COARSE:
        return False
    diagonal = np.array_equal(cells_cc, np.diag(np.diag(cells_cc)))
    better = _enough_points(np.diag(cells_cc) if diagonal else np.ones(3), lattice_cv, hybrid)
    remedy = "Set HFSCREEN = 0.2, or 0: 1/r is corrected for this."
    if better is not None:
        remedy = f"Take {' x '.join(map(str, better))} points or, of a molecule, a larger box."
    message = (
        f"too few k-points for HFSCREEN = {hybrid.screening / BOHR_ANGSTROM:g} 1/Å: exchange reaches images of its "
        f"hole in the crystal that the mesh stands for. Occupied levels come out up to {error:.3g} eV and energies up "
        f"to {error / 2:.3g} eV for each electron too low, more so in small cells, so that pressures are wrong, too"
    )
    (findings.error if error > SENSELESS else findings.warn)(file, message, remedy)
    return True


def _enough_points(mesh_c: np.ndarray, lattice_cv: np.ndarray, hybrid: Hybrid) -> tuple[int, ...] | None:
    """The mesh, no coarser than this one along any axis, that leaves next to no such error; None if none does."""
    heights_c = heights(lattice_cv)
    for length in LENGTHS:
        found = tuple(max(int(n), ceil(length / height)) for n, height in zip(mesh_c, heights_c, strict=True))
        if level_error(np.diag(found) @ lattice_cv, hybrid) < FINE:
            return found
    return None


def level_error(crystal_cv: np.ndarray, hybrid: Hybrid) -> float:
    """a Σ_R erfc(ωR)/R of the lattice in which Bloch waves are periodic, without R = 0, eV: by so much an occupied
    level of localised electrons is too low where v(0) is π/ω² (`exchange/kernel.py`)."""
    return hybrid.fraction * HARTREE_EV * screened_images(crystal_cv, hybrid.screening)


def downsampling_of(
    incar: Incar, kpoints: KPoints, hybrid: Hybrid | None, findings: Findings
) -> Downsampling | None:
    """NKRED, EVENONLY and their kin: which q-points exchange counts, None for all.  Problems go to the findings."""
    uniform = incar.values.get("NKRED", 1)
    divisors = [incar.values.get(tag, uniform) for tag in REDUCTIONS]
    parity = next((parity for tag, parity in PARITIES.items() if incar.get(tag)), None)
    if incar.broken("NKRED") or any(map(incar.broken, REDUCTIONS)) or (divisors == [1, 1, 1] and parity is None):
        return None
    first, second, third = (one if isinstance(one, int) else 1 for one in divisors)
    found = Downsampling((first, second, third), parity)
    given, switched = _thinning(incar, PARITIES), _thinning(incar, ("NKRED", *REDUCTIONS))
    if len(switched) > 1 or (given and switched):
        both = " and ".join(given[-1:] + switched)
        findings.add(incar.problem(switched[-1], f"{both} each choose q-points", "Keep one of them."))
        return None
    if parity == ODD and hybrid is not None and not hybrid.screening:
        message = "odd q-points leave q = 0 out, where exchange of 1/r diverges: nothing stands for the integral"
        findings.add(incar.problem("ODDONLY", message, "Set HFSCREEN = 0.2, or EVENONLY = .TRUE."))
        return None
    fault = found.fault(kpoints)
    if fault:
        tag = switched[0] if switched else _of_axis(found, kpoints, given)
        findings.add(incar.problem(tag, fault, "Choose a divisor of the mesh, or remove the line."))
        return None
    return found


def _thinning(incar: Incar, but: Iterable[str] = ()) -> list[str]:
    """Tags that leave q-points out, without some."""
    tags = (tag for tag in ("NKRED", *REDUCTIONS, *PARITIES) if tag not in but)
    return [tag for tag in tags if incar.values.get(tag, 1) not in (1, False) or incar.values.get(tag) is True]


def _of_axis(found: Downsampling, kpoints: KPoints, given: list[str]) -> str:
    """The tag behind the first divisor that does not fit."""
    mesh = kpoints.mesh or (1, 1, 1)
    uneven = [c for c in range(3) if mesh[c] % found.divisors[c]]
    return REDUCTIONS[uneven[0]] if uneven and REDUCTIONS[uneven[0]] in given else given[0]


def check_data_of_exchange(datasets: dict[str, DataSet], incar: Incar, findings: Findings) -> None:
    """Data sets must hold the exchange of their cores."""
    if not incar.get("LHFCALC"):
        return
    silent = [data.header.name for data in datasets.values() if not data.header.has_exact_exchange]
    if silent:
        names = ", ".join(silent)
        message = f"{names} {'do' if len(silent) > 1 else 'does'} not hold the exact exchange with the core"
        findings.add(incar.problem("LHFCALC", message, "Use data sets of gpaw-data, which have it for all elements."))


def check_mesh_of_exchange(
    kpoints: KPoints, hybrid: Hybrid | None, downsampling: Downsampling | None, vibrates: bool, file: str,
    findings: Findings,
) -> None:  # fmt: skip
    """What exact exchange makes of a mesh with fewer operations than the crystal; vibrates: whether atoms will be
    displaced from the places that all operations keep."""
    if hybrid is None or not hybrid.fraction or kpoints.has_crystal_symmetry:
        return
    if hybrid.screening and downsampling is None:
        count = len(mesh_points(kpoints))
        message = f"exact exchange acts between all {count} points that the operations of the crystal make of the mesh"
        message += f" of {kpoints.full_count}, and takes as much longer"
        findings.note(file, message, "A mesh with all operations is its own star.")
        return
    what = "exact exchange on a part of the q-points" if hybrid.screening else "exact exchange of 1/r"
    message = f"{what} needs the differences of one mesh, and this one has fewer operations than the crystal"
    if vibrates:
        message += ": force constants of displaced atoms, which need it in all directions, cannot be found with it"
        findings.error(file, message, "Give a mesh with all operations, such as a Gamma-centred one, or set ISYM = 0.")
    else:
        message += ": levels that symmetry makes equal may come out different"
        findings.warn(file, message, "Give a mesh with all operations, such as a Gamma-centred one.")


def check_bands_of_exchange(
    requested: BandRequest, hybrid: Hybrid | None, incar: Incar, findings: Findings
) -> None:
    """Bands beside the mesh need all of its points, and an interaction that does not diverge between them."""
    sources = " and the ".join(points.source for points in requested.lists)
    if requested and hybrid is not None and hybrid.fraction:
        for tag in _thinning(incar)[:1]:
            message = f"bands at k-points beside the mesh (the {sources}) need exchange with all points of the mesh"
            findings.add(incar.problem(tag, message, "Remove the line, or leave these k-points out."))
    if exchange_range(requested, hybrid) == WIGNER_SEITZ:
        message = f"for bands beside the mesh (the {sources}) 1/r ends at the Wigner-Seitz cell of the mesh in the "
        message += "whole run; energies of a run without them, with a probe charge instead, differ by what the "
        findings.add(incar.problem("LHFCALC", f"{message}mesh is too coarse by", severity="note"))
