"""Readers of results for `mutate.py`: what pictures, reports and runs that go on are made of.

Their undamaged inputs come from one small run, made once in build/robustness/seen.
"""

import gzip
import os
import shutil
import sys
import tempfile
from contextlib import suppress
from functools import cache
from io import BytesIO
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SHARED = REPOSITORY.parent / "shared" / "reference"
SEEN = REPOSITORY / "build" / "robustness" / "seen"

Files = dict[str, bytes]

# --- what is read ----------------------------------------------------------------------------------------------------


def draw(folder: Path, *words: str) -> None:
    """The pictures of some names, whole; those that a folder cannot have are left out."""
    from eigenwerk.shown import make_plain
    from eigenwerk.view.choice import Options, named, why_missing
    from eigenwerk.view.folder import RunFolder

    run = RunFolder(folder)
    for picture in (picture for name in words for picture in named(run, name)):
        if not why_missing(picture, run, Options()):
            figure = picture.draw(run, Options())
            make_plain(figure)
            figure.set_dpi(30)
            figure.savefig(BytesIO(), format="png")


def read_vasprun_file(folder: Path) -> None:
    from eigenwerk.io.vasp.vasprun_reader import read_vasprun

    read_vasprun(next(folder.glob("vasprun.xml*")))


def read_report(folder: Path) -> None:
    from eigenwerk.view.folder import RunFolder
    from eigenwerk.view.report.report import report

    assert "<script" not in report(RunFolder(folder))


def read_trajectory_file(folder: Path) -> None:
    from eigenwerk.view.trajectory import (
        pair_distributions,
        read_trajectory,
        square_displacements,
        velocity_autocorrelations,
    )

    found = read_trajectory(folder / "trajectory.h5")
    pair_distributions(found)
    square_displacements(found)
    velocity_autocorrelations(found)


def read_documents(folder: Path) -> None:
    draw(folder, *(name for name, file in DOCUMENTS.items() if (folder / file).is_file()))


def read_fields_file(folder: Path) -> None:
    draw(folder, "fields")


def read_points(folder: Path) -> None:
    from eigenwerk.dft.runs.series.points import finished_points

    finished_points(folder / "eos.json")


def read_sealed_state(folder: Path) -> None:
    """Damage whose sum fits: what somebody does on purpose."""
    from eigenwerk.io.hdf5.hdf5_state import read_state, seal

    seal(folder / "eigenwerk.h5")
    read_state(folder / "eigenwerk.h5")


def read_checkpoint(folder: Path) -> None:
    """A solver's checkpoint; the sum of its state fits."""
    import torch

    from eigenwerk.errors import InputError
    from eigenwerk.io.hdf5.hdf5_state import seal
    from eigenwerk.ncci.solve.checkpoint import Checkpoint

    with suppress(InputError):
        seal(folder / "state.h5")
    sys.path.append(str(REPOSITORY / "tests"))
    from standard_matrix import StandardMatrix

    Checkpoint(folder, {"title": "a"}).load(StandardMatrix(torch.eye(24, dtype=torch.float64)), torch.device("cpu"))


def read_stopcar(folder: Path) -> None:
    from eigenwerk.io.vasp.input.stopcar import StopFiles, parse_stopcar
    from eigenwerk.io.vasp.textfile import read_text

    StopFiles([folder])
    parse_stopcar(read_text(folder / "STOPCAR"))


def read_folder_lock(folder: Path) -> None:
    from eigenwerk.io.folder_lock import lock_folder

    lock_folder(folder).release()


# --- undamaged inputs ------------------------------------------------------------------------------------------------

DOCUMENTS = {"bands": "bands.json", "eos": "eos.json", "converge": "converge.json", "path": "neb.json"}
"""Pictures of JSON documents, as `plot` calls them."""


@cache
def seen() -> Path:
    """A small run with everything that there is to look at."""
    sys.path.append(str(REPOSITORY / "tests"))
    if not (SEEN / "out" / "vasprun.xml").is_file():
        from seen_runs import make_seen

        new = SEEN.with_name(f"seen-{os.getpid()}")
        make_seen(new)
        shutil.rmtree(SEEN, ignore_errors=True)
        new.rename(SEEN)
    return SEEN / "out"


def vaspruns() -> list[Files]:
    found = [{"vasprun.xml": (seen() / "vasprun.xml").read_bytes()}]
    if SHARED.is_dir():
        for name in ("li_relax/vasprun.xml", "si_static/vasprun.xml"):
            found.append({"vasprun.xml": (SHARED / "vasp_outputs" / name).read_bytes()})
        found.append({"vasprun.xml.gz": (SHARED / "vasp_outputs" / "si_gw0/vasprun.xml.gz").read_bytes()})
    return [*found, {"vasprun.xml.gz": gzip.compress(found[0]["vasprun.xml"], 1)}]


def reports() -> list[Files]:
    """Each file of a run that its report reads takes its turn."""
    names = ("vasprun.xml", "bands.json", "eigenwerk-trace.json")
    files = {name: (seen() / name).read_bytes() for name in names}
    return [{name: files[name]} | files for name in names]


def trajectories() -> list[Files]:
    """Of two atoms, in the layout of our own writer."""
    import h5py
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trajectory.h5"
        with h5py.File(path, "w", userblock_size=512) as file:
            atoms = file.create_group("particles/atoms")
            atoms["species"], atoms["mass"] = np.array([14, 8], np.int32), np.array([28.1, 16.0])
            times = None
            places, cells = np.random.default_rng(1).random((5, 2, 3)), np.stack([5.4 * np.eye(3)] * 5)
            for name, value in {"box/edges": cells, "position": places, "velocity": np.ones((5, 2, 3))}.items():
                group = atoms.create_group(name)
                group["value"] = value
                if times is None:
                    group["time"], group["step"] = 2.0 * np.arange(5), np.arange(5, dtype=np.int32)
                    group["time"].attrs["unit"] = "fs"
                    times = group
                else:
                    group["time"], group["step"] = times["time"], times["step"]
        return [{"trajectory.h5": path.read_bytes()}]


def documents() -> list[Files]:
    import json

    points = [
        {"length_scale": 0.98 + 0.01 * n, "volume_A3": 40.0 + n, "free_energy_eV": -10 + 0.01 * (n - 2) ** 2,
         "energy_zero_smearing_eV": -10.0, "pressure_GPa": 3.0 - n, "pulay_pressure_GPa": -0.1, "moment_muB": None,
         "curve_pressure_GPa": 3.0 - n, "converged": True, "status": "converged"}
        for n in range(5)
    ]  # fmt: skip
    fit = {"volume_A3": 42.0, "volume_error_A3": 0.1, "bulk_modulus_GPa": 90.0, "bulk_modulus_error_GPa": 1.0,
           "bulk_modulus_derivative": 4.0, "bulk_modulus_derivative_error": 0.2, "energy_eV": -10.0,
           "energy_error_eV": 1e-4, "rms_eV": 1e-5, "length_scale": 1.0}  # fmt: skip
    eos = {"format": "eigenwerk-eos", "version": 1, "atoms": 2, "points": points, "birch_murnaghan": fit,
           "bracketed": True, "complete": True, "interrupted": True}  # fmt: skip
    settings = [
        {"words": f"ENCUT = {cutoff}", "value": float(cutoff), "converged": True, "atoms": 2,
         "energy_eV_per_atom": -5.0 - 0.01 / cutoff, "difference_to_best_eV_per_atom": 1.0 / cutoff,
         "estimated_error_eV_per_atom": 1.0 / cutoff, "force_change_eV_per_A": 0.01, "pressure_change_GPa": 0.1,
         "entropy_term_eV": 0.0}
        for cutoff in (200, 300, 400, 500)
    ]  # fmt: skip
    series = [{"name": "ENCUT", "settings": settings, "complete": True, "best": 3, "remainder_eV_per_atom": 1e-3}]
    converge = {"format": "eigenwerk-converge", "version": 1, "interrupted": False, "series": series}
    bands = (seen() / "bands.json").read_bytes()
    return [{"bands.json": bands}, {"eos.json": json.dumps(eos).encode()},
            {"converge.json": json.dumps(converge).encode()}]  # fmt: skip


def series_documents() -> list[Files]:
    return [files for files in documents() if "eos.json" in files]


def fields() -> list[Files]:
    found = []
    for name in ("CHGCAR", "LOCPOT"):
        if (seen() / name).is_file():
            found.append({name: (seen() / name).read_bytes()})
    return found


def sealed_states() -> list[Files]:
    import numpy as np

    from eigenwerk.io.hdf5.hdf5_state import write_state

    state = {
        "system": "Si", "density": {"n_sg": np.arange(960.0).reshape(1, 960)}, "lists": [1, 2], "none": None,
        "names": ["Si", "O"], "flags": np.array([True, False]), "i": 1j, "nested": [{"a": 1}, ("x", 2.0)],
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for packed in (None, "gzip"):
            write_state(Path(folder) / "made.h5", state, "0", packed)
            found.append({"eigenwerk.h5": (Path(folder) / "made.h5").read_bytes()})
    return found


def checkpoints() -> list[Files]:
    """Of the Lanczos iteration, with a vector or its state damaged, and of Davidson's."""
    import torch

    sys.path.append(str(REPOSITORY / "tests"))
    from eigenwerk.linalg.bands.davidson import davidson
    from eigenwerk.linalg.lanczos import LanczosPlan, lanczos
    from eigenwerk.ncci.solve.checkpoint import Checkpoint
    from standard_matrix import StandardMatrix, starts

    a = torch.randn((24, 24), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    operator, found = StandardMatrix(a + a.T), []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        checkpoint = Checkpoint(folder / "l", {"title": "a"})
        plan = LanczosPlan(wanted=2, products=8, fixed=True, space=8)
        lanczos(operator, starts(1, 24, torch.float64), plan, watch=checkpoint.save)
        files = {path.name: path.read_bytes() for path in sorted((folder / "l").iterdir())}
        first = next(name for name in files if name.startswith("vector"))
        found += [{"state.h5": files["state.h5"]} | files, {first: files[first]} | files]
        checkpoint = Checkpoint(folder / "d", {"title": "a"})
        davidson(operator, starts(2, 24), expansions=2, tolerance=1e-9, max_space=3, watch=checkpoint.save)
        found.append({path.name: path.read_bytes() for path in (folder / "d").iterdir()})
    return found


def stopcars() -> list[Files]:
    return [{"STOPCAR": text} for text in (b"LSTOP = .TRUE.\n", b"! no\nLABORT=T ; LSTOP = F # x\n")]


def locks() -> list[Files]:
    words = b'{"user": "a", "host": "b", "boot": "c", "process": 4194305, "born": "1", "began": "then", "run": "x"}'
    return [{"eigenwerk.lock": words}]


RESULT_READERS = {
    "vasprun": (read_vasprun_file, vaspruns),
    "report": (read_report, reports),
    "plot: trajectory": (read_trajectory_file, trajectories),
    "plot: documents": (read_documents, documents),
    "plot: fields": (read_fields_file, fields),
    "series": (read_points, series_documents),
    "sealed state": (read_sealed_state, sealed_states),
    "checkpoint": (read_checkpoint, checkpoints),
    "stopcar": (read_stopcar, stopcars),
    "lock": (read_folder_lock, locks),
}
"""As READERS of `mutate.py`."""
