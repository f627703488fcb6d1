"""A made-up run of two species, as the writers of output files get it, and samples of input files."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigenwerk.io.vasp.output.record import (
    BasisRecord,
    DensityOfStates,
    FinalRecord,
    IonicStep,
    KpointGeneration,
    ResourceRecord,
    RunRecord,
    SpeciesRecord,
    StepRecord,
    dataset_title,
)

SPECIES = (
    SpeciesRecord(2, "Mg", 24.305, 10.0, dataset_title(True, "Mg", "gpaw-data 1.2.1", "Mg.PBE", "md5:0123abcd")),
    SpeciesRecord(1, "O", 15.999, 6.0, dataset_title(True, "O", "gpaw-data 1.2.1", "O.PBE", "md5:4567efab")),
)

PLANE_WAVES = np.array([120, 118, 123, 119])


def _final(spins: int, converged: bool, random: np.random.Generator) -> FinalRecord:
    """Four k-points, five bands, the lower three filled; a gap of more than 1 eV."""
    eig_skn = np.sort(random.uniform(-8.0, -2.0, (spins, 4, 5)), axis=2)
    eig_skn[:, :, 3:] += 9.0
    occ_skn = np.broadcast_to([1.0, 1.0, 1.0 - 3e-6, 3e-6, 0.0], eig_skn.shape).copy()
    energy_x = np.linspace(-10.0, 10.0, 11)
    return FinalRecord(
        fermi_level=2.25,
        eig_skn=eig_skn,
        occ_skn=occ_skn,
        status="converged in 3 steps" if converged else "not converged: 4 > 1e-6 & still falling",
        dos=DensityOfStates(energy_x, np.full((spins, 11), 0.5), np.full((spins, 11), 0.25)),
    )


def _ionic(spins: int, converged: bool, stress: bool, steps: int, random: np.random.Generator) -> IonicStep:
    return IonicStep(
        lattice_cv=np.array([[0.0, 2.1, 2.1], [2.2, 0.0, 2.2], [3.1, 3.1, 0.1]]),
        scaled_ac=np.array([[0.0, 0.0, 0.0], [1 / 3, 0.5, -0.1], [0.7, 0.2, 0.4]]),
        steps=tuple(_step(i, spins) for i in range(1, steps + 1)),
        free_energy=-12.51682784,
        energy_without_entropy=-12.50682784,
        energy_zero=-12.51182784,
        converged=converged,
        components={"ewald": -358.54947623, "hartree": 139.44074641},
        forces_av=random.normal(size=(3, 3)),
        stress_vv=np.diag([-15.0, -16.0, -17.0]) + 0.5 if stress else None,
        moment=1.9641 if spins == 2 else None,
        moment_a=np.array([0.9, 0.9, 0.1]) if spins == 2 else None,
        absolute_energy=-12345.678901234,
    )


def _before(ionic: IonicStep) -> IonicStep:
    """An ionic step before another one: other cell, positions, energies, forces and number of steps."""
    return replace(
        ionic,
        lattice_cv=1.01 * ionic.lattice_cv,
        scaled_ac=ionic.scaled_ac + 0.01,
        steps=(*ionic.steps, replace(ionic.steps[-1], step=len(ionic.steps) + 1)),
        free_energy=ionic.free_energy + 0.25,
        energy_without_entropy=ionic.energy_without_entropy + 0.25,
        energy_zero=ionic.energy_zero + 0.25,
        forces_av=2 * ionic.forces_av,
    )


def _step(number: int, spins: int) -> StepRecord:
    return StepRecord(
        step=number,
        algorithm="DAV",
        free_energy=-12.0 - 0.1 * number,
        energy_without_entropy=-11.99 - 0.1 * number,
        energy_zero=-11.995 - 0.1 * number,
        change=-0.1,
        band_energy_change=-0.0314,
        applications=1728,
        residual=0.105,
        density_residual=None if number == 1 else 0.7,
        moment=2.0 if spins == 2 else None,
        seconds=0.25,
    )


@pytest.fixture(scope="session")
def samples(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of tests/data/vasp_samples.txt."""
    folder = tmp_path_factory.mktemp("samples")
    text = (repository / "tests/data/vasp_samples.txt").read_text(encoding="utf-8")
    _, *parts = re.split(r"^==== (\S+) ====\n", text, flags=re.MULTILINE)
    for name, content in zip(parts[::2], parts[1::2], strict=True):
        (folder / name).write_text(content, encoding="utf-8")
    return folder


@pytest.fixture
def make_record() -> Callable[..., RunRecord]:
    """Factory of records; keywords replace fields of the record or of its last ionic step, `parameters` and `incar` are
    merged; ionic: how many ionic steps."""

    def make(
        spins: int = 1, converged: bool = True, stress: bool = True, steps: int = 3, ionic: int = 1, **changes: Any
    ) -> RunRecord:
        random = np.random.default_rng(11)
        of_step = {name for name in changes if name in IonicStep.__dataclass_fields__}
        fields = {name: value for name, value in changes.items() if name not in of_step}
        final = _final(spins, converged, random)
        last = replace(_ionic(spins, converged, stress, steps, random), **{name: changes[name] for name in of_step})
        incar = {"ENCUT": 450, "EDIFF": 1e-10, "LREAL": False, "ISPIN": spins, "MAGMOM": [1.0, 1.0, 0.0]}
        parameters = {"ENCUT": 450, "NELM": 60, "ISPIN": spins, "NELECT": 26, "EDIFF": 1e-10, "GGA": "PE", "ISMEAR": 0}
        parameters |= {
            "SIGMA": 0.05,
            "PREC": "Accurate",
            "ISIF": 2,
            "NGX": 24,
            "NGY": 24,
            "NGZ": 30,
            "GGA_COMPAT": True,
        }
        values: dict[str, Any] = {
            "version": "0.1.0",
            "start": datetime(2026, 5, 4, 13, 2, 1),
            "title": "Mg2O <made up> & small",
            "incar": incar | fields.pop("incar", {}),
            "parameters": parameters | fields.pop("parameters", {}),
            "generation": KpointGeneration("Monkhorst-Pack", (4, 3, 1)),
            "kpoint_kc": np.array([[1 / 8, 0, 0], [3 / 8, 0, 0], [1 / 8, 1 / 3, 0], [3 / 8, 1 / 3, 0]]),
            "weight_k": np.array([1, 1, 2, 2]) / 6,
            "symbols": ("Mg", "Mg", "O"),
            "species": SPECIES,
            "ionic_steps": (*(_before(last) for _ in range(ionic - 1)), last),
            "final": final,
            "basis": None if "weight_k" in fields else BasisRecord((24, 24, 30), (48, 48, 60), PLANE_WAVES),
            "ranks": 4,
            "resources": ResourceRecord(12.5, 11.0, 0.25, 123456.0, 321, 2, 17),
        }
        return RunRecord(**(values | fields))

    return make
