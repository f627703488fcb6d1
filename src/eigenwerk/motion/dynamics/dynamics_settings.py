"""What a molecular dynamics run is asked to do."""

from dataclasses import dataclass, fields
from math import isfinite

from eigenwerk.errors import InputError

THERMOSTATS = ("none", "constant velocities", "scaling", "andersen", "nose-hoover", "langevin", "csvr")
BAROSTATS = ("none", "parrinello-rahman", "cell rescaling", "isotropic cell rescaling")
YOSHIDA_STEPS = (1, 3, 7)


@dataclass(frozen=True)
class DynamicsSettings:
    """Steps, temperature, thermostat and barostat; units: fs, K, eV, Å, amu, 1/fs, eV/Å³.

    steps: points of the trajectory, the start among them.  time_step: fs.
    temperature, end_temperature: K at the start and at the end, linear between them; None: the same.
    seed: of the random numbers.

    thermostat: one of THERMOSTATS, with
    scaling_stride      "scaling": points from one scaling to the next
    collision_chance    "andersen": of an atom in one step
    friction            "langevin": of each species, 1/fs
    chain_length, thermostat_time, chain_substeps, chain_yoshida
                        "nose-hoover": thermostats in the chain; τ, fs, with masses Q₁ = f kT τ², Qⱼ = kT τ²; pieces
                        into which a step of the chain is cut; and into which each of those is, 1, 3 or 7
    nose_mass           "nose-hoover": eV fs² in place of Q₁; None: from thermostat_time
    thermostat_time     "csvr": time in which the kinetic energy forgets, fs

    barostat: one of BAROSTATS, with
    pressure            eV/Å³, from outside
    cell_mass           "parrinello-rahman": amu, of each component of the lattice vectors
    cell_friction       "parrinello-rahman": 1/fs
    compressibility, cell_time    of both rescalings: Å³/eV, an estimate, and fs, the time in which the volume forgets

    closest: Å, the distance between atoms below which the run stops; longest_move: Å, the step of one atom above which
    it stops.
    """

    steps: int
    time_step: float
    temperature: float = 0.0
    end_temperature: float | None = None
    thermostat: str = "none"
    seed: tuple[int, ...] = (0,)
    scaling_stride: int = 1
    collision_chance: float = 0.0
    friction: tuple[float, ...] = ()
    chain_length: int = 1
    thermostat_time: float = 0.0
    nose_mass: float | None = None
    chain_substeps: int = 1
    chain_yoshida: int = 1
    barostat: str = "none"
    pressure: float = 0.0
    cell_mass: float = 1000.0
    cell_friction: float = 0.0
    compressibility: float = 0.0
    cell_time: float = 0.0
    closest: float = 0.4
    longest_move: float = 1.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, float) and not isfinite(value):
                raise InputError(f"Molecular dynamics: {field.name} = {value} is no number to work with.")
        if self.thermostat not in THERMOSTATS or self.barostat not in BAROSTATS:
            raise InputError(f"Molecular dynamics knows no {self.thermostat!r} with {self.barostat!r}.")
        for wrong, words in self._checks():
            if wrong:
                raise InputError(f"Molecular dynamics: {words}")

    def _checks(self) -> tuple[tuple[bool, str], ...]:
        """What must not be, each with its words."""
        bath = self.thermostat in ("andersen", "nose-hoover", "langevin", "csvr")
        coldest, hottest = sorted((self.temperature, self.last_temperature))
        cold = coldest == 0 if self.thermostat == "csvr" else hottest == 0
        rescaling = self.barostat.endswith("cell rescaling")
        chain = self.thermostat == "nose-hoover"
        no_mass = self.nose_mass is None and self.thermostat_time <= 0
        return (
            (self.steps < 1, f"{self.steps} steps are none. Set at least 1."),
            (self.time_step <= 0, f"a time step of {self.time_step:g} fs goes nowhere. Typical: 0.5 fs with hydrogen, "
                                  "1 to 2 fs without."),
            (coldest < 0, f"a temperature of {coldest:g} K is below absolute zero."),
            (bath and cold, f"the thermostat {self.thermostat!r} needs temperatures above 0 K."),
            (self.scaling_stride < 1, f"velocities scaled every {self.scaling_stride} steps: set at least 1."),
            (not 0 <= self.collision_chance <= 1, f"{self.collision_chance:g} is no probability of a collision: "
                                                  "0 to 1."),
            (min((*self.friction, self.cell_friction), default=0.0) < 0, "a negative friction would drive the motion."),
            (chain and not 1 <= self.chain_length <= 20, f"a chain of {self.chain_length} thermostats: 1 to 20."),
            (chain and no_mass, f"thermostats of the chain need a time above 0 fs, not {self.thermostat_time:g}."),
            (chain and self.nose_mass is not None and self.nose_mass <= 0, "the thermostat's mass must be above 0."),
            (chain and self.chain_substeps < 1, f"{self.chain_substeps} pieces of a step: set at least 1."),
            (chain and self.chain_yoshida not in YOSHIDA_STEPS, f"{self.chain_yoshida} pieces in the scheme of Suzuki "
                                                                "and Yoshida: 1, 3 or 7."),
            (self.thermostat == "csvr" and self.thermostat_time <= 0, "the thermostat 'csvr' needs a time above 0 fs."),
            (self.barostat != "none" and self.thermostat not in ("langevin", "csvr"),
             f"a cell that moves needs the thermostat 'langevin' or 'csvr', not {self.thermostat!r}."),
            (self.barostat == "parrinello-rahman" and self.thermostat != "langevin",
             "the cell of Parrinello and Rahman comes with the thermostat 'langevin' only."),
            (self.barostat == "parrinello-rahman" and self.cell_mass <= 0,
             f"a cell of mass {self.cell_mass:g} amu cannot be moved. Typical: 10 to 1000."),
            (rescaling and min(self.compressibility, self.cell_time) <= 0,
             "stochastic cell rescaling needs a compressibility and a time above 0."),
        )  # fmt: skip

    @property
    def last_temperature(self) -> float:
        """At the end, K."""
        return self.temperature if self.end_temperature is None else self.end_temperature

    def target(self, point: int) -> float:
        """Temperature wanted at a point, counted from 1, K: T = T_begin + (T_end - T_begin) point / steps."""
        return self.temperature + (self.last_temperature - self.temperature) * min(point / self.steps, 1.0)
