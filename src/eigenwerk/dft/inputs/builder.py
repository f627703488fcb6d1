"""The steps by which a calculation is understood from its input: what each makes, of what, in one table.

A step is a function.  What it needs are the names of its parameters among what is known so far; it is left out where
one is missing whose type does not allow None.  Problems go to the findings, and the next steps do what they can.
"""

from collections.abc import Callable
from dataclasses import fields
from types import NoneType
from typing import Any, get_args, get_type_hints

from eigenwerk.dft.inputs import checks
from eigenwerk.dft.inputs.open_shells import check_fillings
from eigenwerk.dft.inputs.steps import (
    bands,
    crystal,
    datasets,
    electrons,
    exchange,
    field_files,
    grids,
    motion,
    points,
    size,
)
from eigenwerk.dft.settings.hubbard import hubbard_shells
from eigenwerk.dft.settings.non_local import non_local_of
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.dft.settings.tags_in_force import Computed
from eigenwerk.functionals.functional import Functional

TAGS = "tags"
"""What some steps make besides: values of tags in force by their names."""


class InputStep:
    """One function, with the names of what it makes; after: what must be known besides its parameters."""

    def __init__(self, run: Callable[..., Any], *makes: str, after: tuple[str, ...] = ()):
        self.run, self.makes, self.after = run, makes, after
        hints = get_type_hints(run)
        self.needs = {name: NoneType not in get_args(hints[name]) for name in hints if name != "return"}

    def __call__(self, known: dict[str, Any]) -> None:
        """Add what it makes to what is known."""
        given = {name: known if name == "known" else known.get(name) for name in self.needs}
        missing = any(given[name] is None for name, needed in self.needs.items() if needed)
        if missing or any(known.get(name) is None for name in self.after):
            return
        found = self.run(**given)
        for name, value in zip(self.makes, found if len(self.makes) > 1 else (found,), strict=False):
            if name == TAGS or isinstance(value, Computed):
                known["computed"] |= value if name == TAGS else {name: value}
            else:
                known[name] = value


READY = ("bands", "grids")
"""From here on nothing is missing that `Parameters` holds."""


def all_parameters(known: dict[str, Any], functional: Functional) -> Parameters:
    """All that is known by the names of its fields."""
    values = {field.name: known[field.name] for field in fields(Parameters) if field.name in known}
    return Parameters(**values | {"functional": functional.tag})


STEPS = (
    InputStep(datasets.choose_functional, "functional", TAGS),
    InputStep(exchange.hybrid_of, "hybrid", TAGS),
    InputStep(non_local_of, "non_local", TAGS),
    InputStep(datasets.choose_datasets, "datasets"),
    InputStep(datasets.mixed_momenta, TAGS),
    InputStep(exchange.check_data_of_exchange),
    InputStep(datasets.choose_cutoff, "cutoff", "ENCUT"),
    InputStep(grids.choose_precision, "precision", "PREC"),
    InputStep(electrons.electron_count, "electrons", "NELECT"),
    InputStep(electrons.fixed_moment, "fixed_moment"),
    InputStep(motion.motion_request, "motion", TAGS),
    InputStep(checks.check_structure),
    InputStep(checks.check_smearing),
    InputStep(checks.check_tolerance),
    InputStep(electrons.starting_moments, "moment_a", "MAGMOM"),
    InputStep(hubbard_shells, "hubbard", "kinds", TAGS),
    InputStep(crystal.symmetric_structure, "structure", "symmetry"),
    InputStep(checks.check_motion),
    InputStep(points.points_of_run, "kpoints", "requested", "downsampling"),
    InputStep(bands.with_second_list, "requested", TAGS),
    InputStep(exchange.check_bands_of_exchange, after=("symmetry",)),
    InputStep(grids.grid_sizes, "grids", TAGS),
    InputStep(points.plane_waves, "waves", "listed"),
    InputStep(electrons.band_count, "bands", "NBANDS"),
    InputStep(electrons.fixed_occupations, "fixed_occupations"),
    InputStep(electrons.check_waves_of_bands, after=READY),
    InputStep(grids.by_hand, "wave_grid", "fine_grid", after=READY),
    InputStep(electrons.charge_of_cell, "charge", TAGS, after=READY),
    InputStep(checks.check_charge),
    *(InputStep(one.metadata["made"], one.name, *filter(None, [one.metadata["gives"]]), after=READY)
      for one in fields(Parameters) if one.metadata["made"] is not None),
    InputStep(field_files.check_field_files, after=READY),
    InputStep(all_parameters, "parameters", after=READY),
    InputStep(size.size_of_job, "size", "keeps_orbitals"),
    InputStep(size.memory_of_job, "memory"),
    InputStep(checks.check_vacuum),
    InputStep(check_fillings),
)


def fill(known: dict[str, Any]) -> None:
    """All steps in their order, from what the files say to all that follows."""
    for step in STEPS:
        step(known)
