"""What moves in a run, by its tags: relaxation, dynamics, vibrations, searches for saddle points (no torch here)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from eigenwerk.dft.settings.findings import Findings, placed
from eigenwerk.dft.settings.motion_kind import (
    DIMER,
    DYNAMICS,
    METHODS,
    PATH,
    RELAXATION,
    VIBRATIONS,
    kind_of_motion,
    outside,
    stays,
)
from eigenwerk.dft.settings.tags_in_force import Computed, number, number_or, whole
from eigenwerk.errors import InputError
from eigenwerk.io.vasp.elements import MASSES, isotope_masses
from eigenwerk.io.vasp.input.incar import Incar
from eigenwerk.io.vasp.input.poscar import Poscar
from eigenwerk.io.vasp.tags.ions import BAND_TAGS, DIMER_TAGS, DYNAMICS_TAGS, OF_THERMOSTATS
from eigenwerk.motion.dynamics.dynamics_settings import DynamicsSettings
from eigenwerk.motion.dynamics.vasp_tags import settings_of_tags
from eigenwerk.motion.prediction import ASPC, ATOMS, FIT, NONE, SECOND
from eigenwerk.motion.relaxation.relaxation_settings import RelaxationSettings
from eigenwerk.motion.saddle.saddle_settings import BandSettings, DimerSettings
from eigenwerk.motion.saddle.vasp_tags import USUAL_FORCE, band_settings_of_tags, dimer_settings_of_tags
from eigenwerk.motion.vibrations.vasp_tags import vibration_settings_of_tags
from eigenwerk.motion.vibrations.vibrations import VibrationSettings
from eigenwerk.units import EV_PER_ANGSTROM3_GPA

PREDICTIONS = {0: NONE, 1: ATOMS, 2: SECOND, 3: FIT}
"""By IWAVPR."""

OF_DYNAMICS = tuple(tag.name for tag in DYNAMICS_TAGS if tag.status == "honoured")
OF_BAND, OF_DIMER = (tuple(tag.name for tag in tags) for tags in (BAND_TAGS, DIMER_TAGS))
OF_MOTION = ("NSW", "EDIFFG", "POTIM", "NFREE", "IWAVPR", "LATTICE_CONSTRAINTS", "PSTRESS", "PULAY_CORRECTION",
             "POMASS", *OF_DYNAMICS, *OF_BAND, *OF_DIMER)  # fmt: skip
"""Tags that are in force where ions move."""

OF_CELL = ("LATTICE_CONSTRAINTS", "PSTRESS", "PULAY_CORRECTION")
OPTIMISERS = {1: "quasi-newton", 2: "quasi-newton", 4: "quasi-newton", 3: "damped", 7: "damped"}
"""Of relaxation, by IOPT of the VTST patches, which serve where IBRION = 3 has POTIM = 0."""

SearchSettings = RelaxationSettings | DynamicsSettings | VibrationSettings | BandSettings | DimerSettings
"""Of each kind of motion."""

OTHER_BANDS = {
    "LNEBCELL": ("error", "a band whose cell changes is not available"),
    "LDNEB": ("warning", "not done: the band is nudged once, with the improved tangent"),
    "LTANGENTOLD": ("warning", "not done: the improved tangent serves"),
}
"""Switches of the VTST patches that ask for another band than there is: what becomes of each."""

FINE_EDIFF = 1e-6
"""eV; finite differences want it at least as small."""

MOVING_CELL = (3, 4, 5, 6, 7, 8)
"""Values of ISIF."""


@dataclass(frozen=True, eq=False)
class MotionRequest:
    """Atoms that are to move.

    kind: relaxation, dynamics, vibrations, path or dimer, with the settings of that kind; steps: NSW; prediction: how
    states follow the atoms.  masses_a: amu; velocities_av: Å/fs, of POSCAR, or None; free_ac: whether atom a may move
    along lattice vector c, or None; species_a: (a,) place of its species; direction_av: of a dimer, as POSCAR has it.
    lattice_velocity_cv: of lattice vectors with a mass, Å/fs, of POSCAR, or None.
    """

    kind: str
    steps: int
    prediction: str
    settings: SearchSettings
    masses_a: np.ndarray
    velocities_av: np.ndarray | None
    free_ac: np.ndarray | None
    species_a: np.ndarray
    direction_av: np.ndarray | None = None
    lattice_velocity_cv: np.ndarray | None = None

    @property
    def follows_basis(self) -> bool:
        """Whether the cell may change, and follows the stress at fixed plane waves."""
        return self.moves_cell and not (isinstance(self.settings, RelaxationSettings) and self.settings.pulay)

    @property
    def moves_cell(self) -> bool:
        """Whether the cell may change."""
        given = self.settings
        if isinstance(given, RelaxationSettings):
            return given.isif in MOVING_CELL
        if isinstance(given, DynamicsSettings):
            return given.barostat != "none"
        return isinstance(given, VibrationSettings) and given.strains


def motion_request(
    incar: Incar, poscar: Poscar, findings: Findings, fixed_density: bool
) -> tuple[MotionRequest | None, dict[str, Computed]]:
    """What the tags ask for, and those of its tags that follow from others or are out of force."""
    kind = kind_of_motion(incar)
    if kind is None:
        if stays(incar):
            words = f"ICHARG = {incar.get('ICHARG')} keeps the density, so nothing moves in this one step"
            findings.add(incar.problem("NSW", words, severity="note"))
        given = [name for name in OF_MOTION if name != "NSW" and name in incar.values]
        if given:
            findings.note(incar.file, f"not used, because ions do not move in this run: {', '.join(given)}")
        return None, {name: Computed(None) for name in OF_MOTION} | {"IBRION": Computed(-1, "nothing moves")}
    computed = dict(_computed(incar, kind))
    before = _errors(findings)
    free_ac = poscar.selective_ac
    if free_ac is not None and not np.any(free_ac) and _only_atoms_move(incar, kind):
        findings.error(
            poscar.file, "selective dynamics leaves nothing to move: every coordinate has F",
            "Give T to what may move, or set NSW = 0.",
        )  # fmt: skip
    constraints = incar.values.get("LATTICE_CONSTRAINTS")
    if kind == DYNAMICS and isinstance(constraints, tuple) and not all(constraints) and incar.get("ISIF") == 3:
        findings.add(incar.problem(
            "LATTICE_CONSTRAINTS", "a cell in dynamics follows all strains; constraints act in relaxations",
            "Remove the tag, or set ISIF = 2.",
        ))  # fmt: skip
    _check_masses(incar, poscar, findings)
    settings: SearchSettings | None = None
    try:
        if kind == DYNAMICS:
            settings = _dynamics(incar, poscar, findings)
        elif kind == VIBRATIONS:
            settings = _vibrations(incar, findings)
        elif kind == PATH:
            settings = _band(incar, findings)
        elif kind == DIMER:
            settings = _dimer(incar, poscar, findings)
        else:
            settings = _relaxation(incar)
    except InputError as error:
        findings.add(placed(incar, (*OF_MOTION, "ISIF", "IBRION"), str(error).removeprefix("Molecular dynamics: ")))
    if fixed_density:
        findings.add(incar.problem(
            "NSW", f"ICHARG = {incar.get('ICHARG')} keeps the density, and atoms that move would take it along",
            "Set NSW = 0, or remove ICHARG.",
        ))  # fmt: skip
    if settings is None or _errors(findings) > before:
        return None, computed
    return MotionRequest(
        kind, whole(incar, "NSW"), _prediction(incar, kind), settings, masses(incar, poscar),
        _velocities(poscar, settings), free_ac, _species(poscar), poscar.velocities_av if kind == DIMER else None,
        _lattice_velocities(poscar, settings, findings),
    ), computed  # fmt: skip


def _errors(findings: Findings) -> int:
    return sum(problem.severity == "error" for problem in findings.problems)


def _only_atoms_move(incar: Incar, kind: str) -> bool:
    return kind != RELAXATION or incar.get("ISIF") not in MOVING_CELL


def idle_tags(incar: Incar, kind: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What tags act with, and those of them that therefore mean nothing in this kind of motion."""
    if kind != PATH:
        moved = kind == RELAXATION and outside(incar)
        yield "IMAGES", tuple(name for name in OF_BAND if not (moved and name == "IOPT"))
    if kind != DIMER:
        yield "IBRION = 44", OF_DIMER
    if kind == DYNAMICS:
        mdalgo = incar.get("MDALGO")
        for name, kinds in OF_THERMOSTATS.items():
            if mdalgo not in kinds:
                yield f"MDALGO = {' and '.join(map(str, kinds))}", (name,)
        if (mdalgo, number(incar, "SMASS")) != (0, -1):
            yield "MDALGO = 0 and SMASS = -1", ("NBLOCK",)
    else:
        own = {RELAXATION: ("SMASS",) if incar.values.get("IBRION") == 3 else (), DIMER: ("RANDOM_SEED",)}
        yield "molecular dynamics (IBRION = 0)", tuple(name for name in OF_DYNAMICS if name not in own.get(kind, ()))
    if incar.get("ISIF") not in MOVING_CELL or kind not in (RELAXATION, DYNAMICS):
        yield "a cell that moves (ISIF = 3)", OF_CELL
    elif kind == DYNAMICS:
        yield "relaxations", ("LATTICE_CONSTRAINTS", "PULAY_CORRECTION")
    if kind in (DYNAMICS, PATH, DIMER):
        yield "relaxations and vibrations", ("NFREE",)
    if kind in (DYNAMICS, VIBRATIONS):
        yield "relaxations and searches for saddle points", ("EDIFFG",)
    if kind == DIMER:
        yield "other motion than that of a dimer", ("POTIM",)


def _computed(incar: Incar, kind: str) -> Iterator[tuple[str, Computed]]:
    """Values of tags that are not given, and tags of other kinds of motion."""
    if "IBRION" not in incar.values:
        yield "IBRION", Computed(0, "as in VASP, where NSW is above 0")
    for _, names in idle_tags(incar, kind):
        yield from ((name, Computed(None)) for name in names)
    searches = kind in (PATH, DIMER)
    if searches and "EDIFFG" not in incar.values:
        yield "EDIFFG", Computed(-USUAL_FORCE, "of searches for saddle points")
    elif kind == RELAXATION and "EDIFFG" not in incar.values:
        yield "EDIFFG", Computed(10 * number(incar, "EDIFF"), "10 EDIFF")
    if (searches or kind == DYNAMICS) and "ISYM" not in incar.values:
        yield "ISYM", Computed(0, "of searches for saddle points" if searches else "of dynamics")


def masses(incar: Incar, poscar: Poscar) -> np.ndarray:
    """Of the atoms, amu: POMASS, else standard weights, and those of isotopes (D, T)."""
    given = incar.values.get("POMASS")
    if isinstance(given, tuple) and len(given) == len(poscar.species_runs):
        return np.array([float(given[species]) for species in _species(poscar)])
    own = isotope_masses(poscar.species_runs, poscar.suffixes)
    runs = zip(own, poscar.species_runs, strict=True)
    return np.array([mass or MASSES[symbol] for mass, (symbol, count) in runs for _ in range(count)])


def _check_masses(incar: Incar, poscar: Poscar, findings: Findings) -> None:
    given, species = incar.values.get("POMASS"), len(poscar.species_runs)
    if not isinstance(given, tuple):
        return
    if len(given) != species or not all(isinstance(mass, float | int) and mass > 0 for mass in given):
        message = f"{len(given)} masses for the {species} species of POSCAR, or one that is not above 0"
        findings.add(incar.problem("POMASS", message, "Give one mass in amu for each species, or remove the line."))


def _species(poscar: Poscar) -> np.ndarray:
    return np.repeat(np.arange(len(poscar.species_runs)), [count for _, count in poscar.species_runs])


def _velocities(poscar: Poscar, settings: object) -> np.ndarray | None:
    """Those of POSCAR in Å/fs; a block in direct coordinates is per time step."""
    if not isinstance(settings, DynamicsSettings) or poscar.velocities_av is None:
        return None
    if poscar.velocities_cartesian:
        return poscar.velocities_av
    return poscar.velocities_av @ poscar.lattice_cv / settings.time_step


def _lattice_velocities(poscar: Poscar, settings: object, findings: Findings) -> np.ndarray | None:
    """Those of POSCAR where the cell has a mass."""
    if poscar.lattice_velocity_cv is None:
        return None
    if isinstance(settings, DynamicsSettings) and settings.barostat == "parrinello-rahman":
        return poscar.lattice_velocity_cv
    findings.note(poscar.file, "the lattice velocities are not used: in this run the cell has no velocity of its own")
    return None


def _prediction(incar: Incar, kind: str) -> str:
    """IWAVPR, or what serves each kind best (docs/equations/moving.md)."""
    given = incar.values.get("IWAVPR")
    if isinstance(given, int):
        return PREDICTIONS[given % 10]
    return {DYNAMICS: ASPC, VIBRATIONS: ATOMS}.get(kind, FIT)


def _relaxation(incar: Incar) -> RelaxationSettings:
    limit = incar.values.get("EDIFFG", 10 * number(incar, "EDIFF"))
    assert isinstance(limit, float | int)
    free = incar.values.get("LATTICE_CONSTRAINTS")
    # .TRUE. means that a vector may change
    free_c = tuple(map(bool, free)) if isinstance(free, tuple) else (True, True, True)
    isif, nfree, smass = incar.values.get("ISIF"), incar.values.get("NFREE"), incar.values.get("SMASS")
    method, potim = METHODS[whole(incar, "IBRION")], number_or(incar, "POTIM", 0.5)
    if method != "quasi-newton" and potim <= 0:
        if not (method == "damped" and whole(incar, "IOPT") in OPTIMISERS):
            raise InputError(f"POTIM = {potim:g}: no atom would move. Set POTIM = 0.5, or IBRION = 2.")
        method, potim = OPTIMISERS[whole(incar, "IOPT")], 0.5
    return RelaxationSettings(
        method=method, most_points=whole(incar, "NSW"),
        isif=isif if isinstance(isif, int) else 2,
        force_tolerance=-float(limit) if limit < 0 else None, energy_tolerance=float(limit) if limit > 0 else None,
        pressure=number(incar, "PSTRESS") / (10 * EV_PER_ANGSTROM3_GPA), lattice_free=free_c,  # type: ignore[arg-type]
        pulay=bool(incar.get("PULAY_CORRECTION")),
        potim=potim,
        nfree=nfree if isinstance(nfree, int) else None, smass=smass if isinstance(smass, float) else None,
    )  # fmt: skip


def _dynamics(incar: Incar, poscar: Poscar, findings: Findings) -> DynamicsSettings | None:
    """None, and an error, without a time step."""
    step = incar.values.get("POTIM")
    if "IBRION" not in incar.values:
        findings.add(incar.problem(
            "NSW", "without IBRION this is molecular dynamics, as in VASP", "Set IBRION = 2 for a relaxation.",
            severity="warning",
        ))  # fmt: skip
    if not isinstance(step, float):
        findings.add(incar.problem(
            "NSW", "molecular dynamics (IBRION = 0) needs a time step",
            "Set POTIM in fs: 0.5 with hydrogen, 1 to 2 without; or IBRION = 2 for a relaxation.",
        ))  # fmt: skip
        return None
    _no_symmetry(incar, findings, "molecular dynamics")

    def value(tag: str) -> object:
        return incar.get(tag)

    names = ("ANDERSEN_PROB", "LANGEVIN_GAMMA_L", "MDALGO", "NBLOCK", "NHC_NCHAINS", "NHC_NRESPA", "NHC_NS",
             "NHC_PERIOD", "PMASS", "PSTRESS", "TEBEG", "CSVR_PERIOD", "BULK_MODULUS")  # fmt: skip
    rest = {name.lower(): value(name) for name in names}
    gamma, seed = incar.values.get("LANGEVIN_GAMMA"), incar.values.get("RANDOM_SEED")
    species = len(poscar.species_runs)
    rest["langevin_gamma"] = gamma if isinstance(gamma, tuple) else (0.0,) * species
    if isinstance(gamma, tuple) and len(gamma) != species:
        raise InputError(f"LANGEVIN_GAMMA has {len(gamma)} frictions for {species} species. Give one for each.")
    if isinstance(seed, tuple):
        rest["random_seed"] = seed
    for name in ("SMASS", "TEEND", "ISIF"):
        if name in incar.values:
            rest[name.lower()] = incar.values[name]
    return settings_of_tags(
        nsw=whole(incar, "NSW"), potim=step, first_vector=float(np.linalg.norm(poscar.lattice_cv[0])),
        cell_rescaling=str(value("CELL_RESCALING")).lower(), cell_rescaling_time=number(incar, "CELL_TIME"),
        **rest,  # type: ignore[arg-type]
    )  # fmt: skip


def _vibrations(incar: Incar, findings: Findings) -> VibrationSettings:
    potim, samples, isif = (incar.values.get(name) for name in ("POTIM", "NFREE", "ISIF"))
    settings, notes = vibration_settings_of_tags(
        ibrion=whole(incar, "IBRION"), isif=isif if isinstance(isif, int) else 2,
        potim=potim if isinstance(potim, float) else None, nfree=samples if isinstance(samples, int) else None,
    )  # fmt: skip
    for tag, words in notes:
        findings.add(incar.problem(tag, words, severity="note"))
    if number(incar, "EDIFF") > FINE_EDIFF:
        words = f"too coarse for differences of forces at steps of {settings.displacement:g} Å"
        findings.add(incar.problem("EDIFF", words, f"Set EDIFF = {FINE_EDIFF:g} or less.", severity="warning"))
    return settings


def _no_symmetry(incar: Incar, findings: Findings, what: str) -> None:
    if whole(incar, "ISYM") > 0 and "ISYM" in incar.values:
        findings.add(incar.problem("ISYM", f"acts as 0: {what} breaks the symmetry of its start", severity="note"))


def _band(incar: Incar, findings: Findings) -> BandSettings:
    _no_symmetry(incar, findings, "a path")
    for tag, (severity, words) in OTHER_BANDS.items():
        if incar.values.get(tag) is True:
            findings.add(incar.problem(tag, words, "Remove the line.", severity))
    if "VCAIMAGES" in incar.values:
        findings.add(incar.problem("VCAIMAGES", "mixtures of images are not available", "Remove the line."))
    ibrion, isif, potim, ediffg = (incar.values.get(tag) for tag in ("IBRION", "ISIF", "POTIM", "EDIFFG"))
    return band_settings_of_tags(
        images=whole(incar, "IMAGES"), nsw=whole(incar, "NSW"), ibrion=ibrion if isinstance(ibrion, int) else None,
        isif=isif if isinstance(isif, int) else 2, spring=number(incar, "SPRING"), lclimb=bool(incar.get("LCLIMB")),
        iopt=whole(incar, "IOPT"), potim=potim if isinstance(potim, float) else None,
        maxmove=number(incar, "MAXMOVE"), ediffg=ediffg if isinstance(ediffg, float) else None,
    )  # fmt: skip


def _dimer(incar: Incar, poscar: Poscar, findings: Findings) -> DimerSettings:
    _no_symmetry(incar, findings, "a dimer")
    isif, ediffg, seed = (incar.values.get(tag) for tag in ("ISIF", "EDIFFG", "RANDOM_SEED"))
    settings = dimer_settings_of_tags(
        nsw=whole(incar, "NSW"), isif=isif if isinstance(isif, int) else 2,
        ediffg=ediffg if isinstance(ediffg, float) else None, dimer_dist=number(incar, "DIMER_DIST"),
        findiff=whole(incar, "FINDIFF"), minrot=whole(incar, "MINROT"), step_size=number(incar, "STEP_SIZE"),
        step_max=number(incar, "STEP_MAX"),
        **({"random_seed": seed} if isinstance(seed, tuple) else {}),
    )  # fmt: skip
    if poscar.velocities_av is None or not np.any(poscar.velocities_av):
        findings.warn(
            poscar.file,
            f"no direction of the dimer behind the positions: a random one is taken (RANDOM_SEED = {settings.seed})",
            "Give one that leads over the barrier, behind a blank line: three numbers for each atom, Cartesian.",
        )  # fmt: skip
    if number(incar, "EDIFF") > FINE_EDIFF:
        words = f"too coarse for differences of forces at steps of {settings.separation:g} Å"
        findings.add(incar.problem("EDIFF", words, f"Set EDIFF = {FINE_EDIFF:g} or less.", severity="warning"))
    return settings
