"""What a calculation takes over from an earlier state, whatever has changed in between."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.density.density import Density
from eigenwerk.dft.exchange.compressed import negative
from eigenwerk.dft.exchange.memory import ExchangeMemory
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.scf.start.carried import (
    Places,
    StoredOrbitals,
    carried_density,
    carried_orbitals,
    of_basis,
    with_electrons,
)
from eigenwerk.dft.scf.state import Progress, StartingPoint, State, System, wanted_bands
from eigenwerk.dft.settings.declared import Changes
from eigenwerk.dft.settings.same import CELL, POSITIONS, apart, differences, same_points, system_tree
from eigenwerk.dft.terms.term import LowRank
from eigenwerk.errors import InputError
from eigenwerk.functionals.hybrid import Hybrid
from eigenwerk.functionals.table import find_functional
from eigenwerk.units import BOHR_ANGSTROM

WAVES = "waves of the density"
"""What else may have changed: grids, or the version that chose the waves (PREC = Normal had 1.5 G_cut once)."""


@dataclass(frozen=True)
class Earlier:
    """An earlier state on its own plane waves.

    name: for messages; about: `subject_tree` of it; unfinished: how it ended if it had not converged; index_gc: waves
    of `density`, the next one; orbitals: None if they were not kept; remedy: what to do if it cannot be used.
    """

    name: str
    about: Mapping[str, Any]
    unfinished: str
    index_gc: torch.Tensor
    density: Density
    occ_skn: torch.Tensor
    progress: Progress | None
    orbitals: StoredOrbitals | None
    remedy: str = ""
    exchange: "StoredExchange | None" = None


@dataclass(frozen=True)
class StoredExchange:
    """Where exact exchange stood: `rest` without its rows, of which `in_use` is None if they are the last ones kept."""

    rest: ExchangeMemory
    in_use: StoredOrbitals | None
    kept: tuple[StoredOrbitals, ...]

    @staticmethod
    def of(memory: ExchangeMemory, basis: PlaneWaveBasis) -> "StoredExchange":
        """That of a state on a basis of the same ranks."""
        own = None if memory.rows is None or memory.in_use_is_last else of_basis(basis, memory.rows.row_skmG)
        kept = tuple(of_basis(basis, rows.row_skmG) for rows in memory.kept)
        return StoredExchange(replace(memory, rows=None, kept=()), own, kept)

    def on(self, places: Places, atoms: PawAtoms, bands: int) -> ExchangeMemory | None:
        """On the basis of these atoms; None if rows are complex and the basis wants real ones."""
        kept = [_rows(stored, places, atoms, bands) for stored in self.kept]
        own = _rows(self.in_use, places, atoms, bands) if self.in_use is not None else kept[-1] if kept else None
        known = tuple(rows for rows in kept if rows is not None)
        if len(known) < len(kept) or (own is None and self.rest.applications):
            return None
        return replace(self.rest, rows=own, kept=known)


def _rows(stored: StoredOrbitals, places: Places, atoms: PawAtoms, bands: int) -> LowRank | None:
    row_skmG = carried_orbitals(stored, places, atoms, bands)
    return None if row_skmG is None else negative(row_skmG)


def tree_of(system: System) -> dict[str, Any]:
    """What a state is a state of (`system_tree`)."""
    structure, setups = system.basis.structure, {s: _setup_tree(system, s) for s in system.basis.structure.species}
    return system_tree(structure, system.basis.kpoints, system.parameters, setups)


def _setup_tree(system: System, symbol: str) -> dict[str, Any]:
    """Which data set: name, file, functional, checksums."""
    names = ("name", "file", "functional", "md5", "sha256", "valence")
    return {name: getattr(system.datasets[symbol], name) for name in names}


def earlier_of(state: State) -> Earlier:
    """A state of this process, or of these processes."""
    basis = state.system.basis
    return Earlier(
        "the state", tree_of(state.system), "" if state.converged else state.status,
        basis.index_gc[: basis.density_count].cpu(), state.following, state.occupations.occ_skn, state.progress,
        of_basis(basis, state.coeff_sknG),
        exchange=None if state.exchange is None else StoredExchange.of(state.exchange, basis),
    )  # fmt: skip


def starting_point(earlier: Earlier, system: System, atoms: PawAtoms, orbitals: bool = True) -> StartingPoint:
    """Where a calculation begins so as to go on from an earlier state, with its orbitals if wanted and usable.

    The density is copied wave by wave, scaled by V_old/V_new so that its charge is kept in another cell, moved with the
    atoms, and scaled to the wanted number of electrons.  From one spin channel to two the magnetisation is that of
    superposed atoms; from two to one the channels are added.  Orbitals are taken if the k-points are the same: bands
    too many are cut off, missing ones start from fixed random numbers.  If nothing has changed that the next step
    depends on, the run goes on as if it had never stopped, with the memory of its mixer.

    Raises InputError if the state is one of other atoms or other PAW data.
    """
    require_same_atoms(earlier, system)
    about = tree_of(system)
    found = differences(earlier.about, about)
    changes = [one.words for one in found if one.changes not in (Changes.BANDS, Changes.LESS)]
    if not changes and not torch.equal(earlier.index_gc, system.basis.index_gc[: system.basis.density_count].cpu()):
        changes.append(WAVES)
    notes = _notes(earlier, about, changes)
    places = Places(earlier.about["structure"], bool({CELL, POSITIONS} & set(changes)))
    density = carried_density(earlier.density, earlier.index_gc, places, atoms)
    coeff_sknG, reason = _orbitals(earlier, about, places, atoms) if orbitals else (None, "")
    if reason:
        notes.append(f"{reason}: density only")
    same_bands = coeff_sknG is not None and earlier.occ_skn.shape[::2] == coeff_sknG.shape[::2]
    progress = _progress(earlier, about, same_bands) if not changes and coeff_sknG is not None else None
    exchange = None
    if progress is not None and same_bands and earlier.exchange is not None:
        exchange = earlier.exchange.on(places, atoms, about["parameters"]["bands"])
    if progress is None:
        density = with_electrons(density, atoms, system.parameters.electrons)
    if changes and coeff_sknG is not None and earlier.progress is not None:
        notes.append(f"mixing starts afresh: not the same {'; '.join(changes)}")
    notes += _functional_notes(earlier.about["parameters"], about["parameters"], coeff_sknG is not None)
    return StartingPoint(
        density, coeff_sknG, wanted_bands(earlier.occ_skn) if same_bands else None, progress, tuple(notes),
        occ_skn=None if coeff_sknG is None else _occupations(earlier.occ_skn, coeff_sknG), exchange=exchange,
        semilocal=not _exact_exchange(earlier.about["parameters"]),
    )


def _occupations(occ_skn: torch.Tensor, coeff_sknG: torch.Tensor) -> torch.Tensor | None:
    """Those of orbitals with other spins or another number of bands; None if some that held electrons are gone."""
    channels, bands = coeff_sknG.shape[::2]
    if bool((occ_skn[..., bands:].abs() > 0).any()):
        return None
    found_skn = occ_skn.new_zeros((len(occ_skn), occ_skn.shape[1], bands))
    found_skn[..., : occ_skn.shape[2]] = occ_skn[..., :bands]
    # as orbitals are: the first channel is as good as the second, or both start alike
    return found_skn if len(found_skn) == channels else found_skn[:1].expand(channels, -1, -1)


def _orbitals(
    earlier: Earlier, about: Mapping[str, Any], places: Places, atoms: PawAtoms
) -> tuple[torch.Tensor | None, str]:
    """The orbitals for these atoms, or why they cannot be used."""
    there, here = (len(some["kpoints"]["weight_k"]) for some in (earlier.about, about))
    if earlier.orbitals is None:
        return None, "the file holds no orbitals"
    if not same_points(earlier.about, about, "point_kc"):
        return None, f"the k-points differ (there were {there}, now {here})"
    coeff_sknG = carried_orbitals(earlier.orbitals, places, atoms, about["parameters"]["bands"])
    return coeff_sknG, "" if coeff_sknG is not None else "the orbitals of the file are complex, those of this run real"


def require_same_atoms(earlier: Earlier, system: System) -> None:
    """Raise InputError if a state is one of other atoms or other PAW data."""
    about = tree_of(system)
    stored, wanted = tuple(earlier.about["structure"]["symbols"]), about["structure"]["symbols"]
    if stored != wanted:
        raise InputError(
            f"{earlier.name}: a start for the {len(stored)} atoms {_shortened(stored)}, but POSCAR has the "
            f"{len(wanted)} atoms {_shortened(wanted)} (the order counts). {earlier.remedy}"
        )
    for symbol, new in about["setups"].items():
        old = earlier.about["setups"].get(symbol, {"name": "nobody knows which", "md5": "?"})
        if old["md5"] != new["md5"]:
            raise InputError(
                f"{earlier.name}: made with the PAW data {old['name']} (md5 {old['md5'][:8]}) for {symbol}, now "
                f"{new['name']} (md5 {new['md5'][:8]}) is to be used; occupancies of one mean nothing for the other. "
                f"{earlier.remedy}"
            )


def _shortened(symbols: tuple[str, ...]) -> str:
    return " ".join(symbols) if len(symbols) <= 12 else " ".join(symbols[:12]) + " …"


def require_same_crystal(earlier: Earlier, system: System) -> list[str]:
    """What else has changed, in words, if the density of a state can be kept as it is.

    Raises InputError if it is one of other atoms, another cell, other positions, or another number of spin channels or
    electrons.
    """
    require_same_atoms(earlier, system)
    about = tree_of(system)
    before, now = earlier.about["parameters"], about["parameters"]
    found = [one for one in differences(earlier.about, about) if one.changes not in (Changes.BANDS, Changes.LESS)]
    changes = {one.words for one in found}
    fatal = {"cell": "its cell is another one", "positions": "its atoms are elsewhere"}
    if POSITIONS in changes:
        moved_by = apart(earlier.about["structure"], about["structure"])[1] * BOHR_ANGSTROM
        fatal["positions"] = f"its atoms are elsewhere (by up to {moved_by:.4f} Å)"
    fatal["ISPIN"] = f"it was made with ISPIN = {earlier.density.spin.components}, and here ISPIN = {now['spins']}"
    fatal["NELECT"] = f"it has {before.get('electrons', 0):g} electrons, and here there are {now['electrons']:g}"
    wrong = [words for name, words in fatal.items() if name in changes]
    if wrong:
        raise InputError(
            f"{earlier.name}: this density cannot be kept: {'; '.join(wrong)}. Use the structure and tags of that run "
            "(its CONTCAR as POSCAR), or make the ground state anew with ICHARG = 2."
        )
    return [one.words for one in found if one.changes is Changes.THE_ANSWER]


def _notes(earlier: Earlier, about: Mapping[str, Any], changes: list[str]) -> list[str]:
    """What the user should know about the earlier run, in words."""
    notes = []
    if earlier.unfinished:
        notes.append(f"the earlier run had not converged ({earlier.unfinished})")
    if CELL in changes:
        notes.append("the cell has changed")
    if POSITIONS in changes:
        moved_by = apart(earlier.about["structure"], about["structure"])[1] * BOHR_ANGSTROM
        notes.append(f"atoms have moved by up to {moved_by:.3f} Å")
    spins = earlier.density.spin.components
    if spins != about["parameters"]["spins"]:
        notes.append(f"ISPIN was {spins}, now it is {about['parameters']['spins']}")
    return notes


def _exact_exchange(parameters: Mapping[str, Any]) -> float:
    """Its fraction."""
    return float((parameters.get("hybrid") or {}).get("fraction", 0.0))


def _functional_notes(before: Mapping[str, Any], now: Mapping[str, Any], orbitals: bool) -> list[str]:
    """What it means that the functional is another one, where exact exchange comes, goes or changes."""
    same = all(before.get(name) == now[name] for name in ("functional", "hybrid"))
    if not _exact_exchange(now):
        return [f"the state is of {_title(before)}, and this run one with {_title(now)}"] if not same else []
    semilocal = find_functional(now["functional"]).title
    if not orbitals:
        return [f"exact exchange needs orbitals: the first ones come from {semilocal}"]
    words = f"the state is of {_title(before)}: exact exchange of {_title(now)} begins with its orbitals"
    return [] if same else [words]


def _title(parameters: Mapping[str, Any]) -> str:
    """'PBE', 'HSE06: 25 % exact exchange ...' without what comes after the name."""
    hybrid = parameters.get("hybrid")
    functional = find_functional(parameters["functional"], None if hybrid is None else Hybrid(**hybrid))
    return functional.title.partition(":")[0]


def _progress(earlier: Earlier, about: Mapping[str, Any], same_bands: bool) -> Progress | None:
    """That of the earlier run, without choices of solver and precision that were made for other settings."""
    if earlier.progress is None:
        return None

    def same(*names: str) -> bool:
        return all(earlier.about["parameters"].get(name) == about["parameters"][name] for name in names)

    return replace(
        earlier.progress, solver=earlier.progress.solver if same_bands and same("solver", "motion_time") else {},
        precision=earlier.progress.precision if same("start_single") else {},
    )  # fmt: skip
