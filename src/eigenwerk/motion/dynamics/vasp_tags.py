"""Molecular dynamics as VASP's tags say it, in their units."""

from collections.abc import Sequence
from math import pi, sqrt

from eigenwerk.errors import InputError
from eigenwerk.motion.dynamics.dynamics_settings import DynamicsSettings
from eigenwerk.units import AMU_EV_FS2_PER_ANGSTROM2, EV_PER_ANGSTROM3_GPA

NOSE_STEPS = 40
"""Period of the temperature with SMASS = 0, steps."""

NO_BATH = -3
"""SMASS of dynamics at constant energy, with MDALGO = 0 and 2."""

FIXED_CELL = (0, 1, 2)
"""ISIF of dynamics in a cell that stays."""


def settings_of_tags(
    *,
    nsw: int,
    potim: float,
    first_vector: float,
    tebeg: float = 0.0,
    teend: float | None = None,
    mdalgo: int = 0,
    smass: float = -3.0,
    isif: int = 0,
    nblock: int = 1,
    andersen_prob: float = 0.0,
    langevin_gamma: Sequence[float] = (),
    langevin_gamma_l: float = 0.0,
    pmass: float = 1000.0,
    pstress: float = 0.0,
    nhc_nchains: int = 0,
    nhc_period: float = 40.0,
    nhc_nrespa: int = 1,
    nhc_ns: int = 1,
    csvr_period: float = 0.0,
    random_seed: Sequence[int] = (0,),
    cell_rescaling: str = "none",
    cell_rescaling_time: float = 0.0,
    bulk_modulus: float = 0.0,
) -> DynamicsSettings:
    """Settings of an IBRION = 0 run from the values of its tags.

    potim: fs.  first_vector: length of the first lattice vector, Å; SMASS > 0 is in amu times its square.
    langevin_gamma, langevin_gamma_l: 1/ps.  pmass: amu.  pstress: kbar.  nhc_period: steps.  csvr_period: fs.
    cell_rescaling: none, isotropic or full, which VASP does not have, with cell_rescaling_time, fs, and bulk_modulus,
    GPa, an estimate.  Raises InputError for what does not go together.

    Sources: the pages of the tags in VASP's wiki; that of CSVR_PERIOD gave steps until it was corrected to fs in 2026.
    """
    thermostat = _thermostat(mdalgo, smass, andersen_prob, nhc_nchains, nhc_period, csvr_period)
    bath = {
        "csvr": {"thermostat_time": float(csvr_period)},
        "nose-hoover": _nose(mdalgo, smass, potim, first_vector, nhc_period, nhc_nchains, nhc_nrespa, nhc_ns),
    }.get(thermostat, {})  # fmt: skip
    return DynamicsSettings(
        steps=nsw,
        time_step=potim,
        temperature=tebeg,
        end_temperature=teend,
        thermostat=thermostat,
        seed=tuple(random_seed),
        scaling_stride=nblock,
        collision_chance=andersen_prob,
        friction=tuple(gamma / 1000 for gamma in langevin_gamma),
        barostat=_barostat(isif, mdalgo, thermostat, cell_rescaling),
        pressure=pstress / (10 * EV_PER_ANGSTROM3_GPA),
        cell_mass=pmass,
        cell_friction=langevin_gamma_l / 1000,
        compressibility=EV_PER_ANGSTROM3_GPA / bulk_modulus if bulk_modulus else 0.0,
        cell_time=cell_rescaling_time,
        **bath,
    )


def _thermostat(
    mdalgo: int, smass: float, andersen_prob: float, nhc_nchains: int, nhc_period: float, csvr_period: float
) -> str:  # fmt: skip
    """The thermostat that MDALGO means; none where what it needs is zero."""
    if mdalgo == 0:
        return _of_smass(smass)
    if mdalgo == 2 and smass < 0 and smass != NO_BATH:
        raise InputError(
            f"MDALGO = 2 (Nosé and Hoover) needs SMASS of at least 0, or {NO_BATH} for no thermostat, not {smass:g}."
        )
    known = {
        1: ("andersen", andersen_prob), 2: ("nose-hoover", smass != NO_BATH), 3: ("langevin", True),
        4: ("nose-hoover", nhc_nchains and nhc_period), 5: ("csvr", csvr_period),
    }  # fmt: skip
    if mdalgo not in known:
        raise InputError(f"MDALGO = {mdalgo} is not available. Set one of 0 to 5.")
    name, given = known[mdalgo]
    return name if given else "none"


def _nose(
    mdalgo: int, smass: float, potim: float, first_vector: float, nhc_period: float, chains: int, respa: int, ns: int
) -> dict:  # fmt: skip
    """Settings of the thermostat of Nosé and Hoover: a chain, or one mass."""
    if mdalgo == 4:
        chain = {"chain_length": chains, "chain_substeps": respa, "chain_yoshida": ns}
        return {"thermostat_time": nhc_period * potim} | chain
    if smass > 0:
        return {"nose_mass": smass * AMU_EV_FS2_PER_ANGSTROM2 * first_vector**2}
    # Q₁ = f kT τ² is the mass 2 f kT (period / 2π)² of Nosé
    return {"thermostat_time": sqrt(2) * NOSE_STEPS * potim / (2 * pi)}


def _of_smass(smass: float) -> str:
    """The thermostat that SMASS means where MDALGO = 0."""
    if smass >= 0:
        return "nose-hoover"
    named = {-3: "none", -2: "constant velocities", -1: "scaling"}
    if smass not in named:
        raise InputError(f"SMASS = {smass:g} means nothing in dynamics. Set -3, -2, -1, 0, or a mass above 0.")
    return named[int(smass)]


def _barostat(isif: int, mdalgo: int, thermostat: str, cell_rescaling: str) -> str:
    """How the cell moves."""
    if cell_rescaling not in ("none", "isotropic", "full"):
        raise InputError(f"Cell rescaling {cell_rescaling!r} is none of: none, isotropic, full.")
    if isif in FIXED_CELL:
        if cell_rescaling != "none":
            raise InputError(f"Cell rescaling moves the cell, ISIF = {isif} keeps it. Set ISIF = 3.")
        return "none"
    if isif != 3:
        raise InputError(f"ISIF = {isif} is not available in dynamics. Set 0, 1 or 2, or 3 for a cell that moves.")
    if cell_rescaling != "none":
        if thermostat not in ("langevin", "csvr"):
            raise InputError("Stochastic cell rescaling needs a thermostat of random forces: MDALGO = 3 or 5.")
        return "cell rescaling" if cell_rescaling == "full" else "isotropic cell rescaling"
    if mdalgo != 3:
        raise InputError(
            f"ISIF = 3 with MDALGO = {mdalgo}: a cell that moves needs MDALGO = 3 (Parrinello and Rahman with "
            "Langevin's bath), or stochastic cell rescaling with MDALGO = 3 or 5."
        )
    return "parrinello-rahman"
