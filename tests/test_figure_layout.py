"""In no picture of any kind do words overlap, leave the edge, or stand on curves, however long they are.

Each picture is laid out as for a file, and the boxes of its words are measured.
"""

import numpy as np
import pytest
from matplotlib.figure import Figure

from covering import but_slow
from eigenwerk.figure_layout import legend_above, numbers, ready
from eigenwerk.io.vasp.input.poscar import parse_poscar
from eigenwerk.io.vasp.output.record import IonicStep, StepRecord
from eigenwerk.ncci.results.levels import Levels
from eigenwerk.ncci.results.limits import level_plot
from eigenwerk.view.bands_plot import bands_figure
from eigenwerk.view.convergence_plot import convergence_figure
from eigenwerk.view.dos_plot import DosCurves, dos_figure
from eigenwerk.view.field_plot import field_figure
from eigenwerk.view.fields import Field, lattice_plane
from eigenwerk.view.ionic_plot import ionic_figure
from eigenwerk.view.path_plot import path_figure
from eigenwerk.view.series_plot import converge_figure, eos_figure
from eigenwerk.view.structure_plot import structure_figure
from eigenwerk.view.trajectory import ReadTrajectory
from eigenwerk.view.trajectory_plot import trajectory_figure
from figure_faults import faults_of

LONG = "Ba8Ca4Cu12Hg4O32Tl2LaCeGdYbSrNd"
"""A formula that no line of a picture holds with what stands behind it."""

TITLES = ("Si2", f"{LONG} (Gaussian broadening 0.15 eV), NOT CONVERGED: highest of 12 images, not at rest, guessed")

SCALES = (1.0, 1e-9, 3e7)
"""Of values."""


def steps_of(count, scale=1.0, residual=True, fall=0.5):
    return [
        StepRecord(
            i, "DAV", -1.0, -1.0, -1.0, scale * fall**i, 2 * scale * fall**i, 10, 0.1,
            density_residual=scale * fall**i if residual else None,
        )
        for i in range(1, count + 1)
    ]  # fmt: skip


def bands_document(points=40, labels=None, spins=2, scale=1.0, metal=False):
    eig_skn = scale * (np.linspace(-3, 3, 5) + np.sin(np.arange(points) / 7)[None, :, None] * np.ones((spins, 1, 1)))
    labels = labels or {0: "G", points - 1: "X"}
    return {
        "eigenvalues_eV": eig_skn.tolist(), "zero_eV": 0.0, "distance_per_A": np.linspace(0, 1, points).tolist(),
        "labels": [labels.get(k, "") for k in range(points)], "lines": [0] * points,
        "gap_eV": {"metal": metal, "gap": 1.2, "top": {"energy": -1.0}, "kind": "from spin up to spin down, at one k"},
    }  # fmt: skip


CROWDED = dict(enumerate(("GAMMA", "X", "W_2", "K", "SIGMA_0", "U", "L", "M_10", "A", "H_2"), 3))


def dos(names=("Ni d (m > 0)",), spins=2, scale=1.0):
    energy_x = np.linspace(-6, 6, 61)
    value_x = scale * (1 + np.sin(energy_x))
    return DosCurves(energy_x, np.array([value_x] * spins), {name: np.array([value_x] * spins) for name in names})


def eos_document(volumes, depth=1.0, fit=True):
    points = [
        {"converged": True, "pressure_GPa": 10 * (20 - v), "pulay_pressure_GPa": 0.1, "volume_A3": 2 * v,
         "free_energy_eV": depth * (v - 20) ** 2 - 10}
        for v in volumes
    ]  # fmt: skip
    birch = {"energy_eV": -10.0, "volume_A3": 40.0, "bulk_modulus_GPa": 3200 * depth, "bulk_modulus_derivative": 4.0}
    return {"atoms": 2, "birch_murnaghan": birch if fit else None, "points": points}


def converge_document(count=4, series=("cutoff", "k-points", "smearing"), scale=1.0):
    rows = {
        name: [
            {"converged": True, "pressure_change_GPa": scale * (0.5**i - 0.1), "words": words.format(i),
             "difference_to_best_eV_per_atom": -scale * 0.004 * 0.5**i * (i < count),
             "estimated_error_eV_per_atom": scale * 0.005 * 0.5**i}
            for i in range(1, count + 1)
        ]
        for name, words in (("cutoff", "ENCUT = {}50"), ("k-points", "{0} x {0} x 12"), ("smearing", "SIGMA = 0.0{}"))
    }  # fmt: skip
    return {"series": [{"name": name, "settings": rows[name]} for name in series]}


def path_document(images, scale=1.0):
    s_x = np.linspace(0, 1, images)
    rows = [
        {"folder": f"{i:02d}", "distance_A": 2 * s, "free_energy_eV": -10 + scale * np.sin(np.pi * s) ** 2,
         "force_along_path_eV_per_A": -0.5 * scale * np.pi * np.sin(2 * np.pi * s)}
        for i, s in enumerate(s_x)
    ]  # fmt: skip
    return {"images": rows}


SCF = StepRecord(1, "DAV", 0.0, 0.0, 0.0, 0.0, 0.0, 1, 0.0)


def ionic_steps(count, scale=1.0, moving=False):
    return [
        IonicStep(
            np.eye(3) * (4 + 0.01 * i), np.zeros((1, 3)), (SCF,), -1234.5 + scale * 0.7**i, 0.0, 0.0, True, {},
            forces_av=np.full((1, 3), scale * 0.5**i), stress_vv=np.eye(3) * scale * (i - 3.0),
            **({"kinetic": 0.1 * scale, "conserved": -1000 + 1e-6 * scale * i} if moving else {}),
        )
        for i in range(count)
    ]  # fmt: skip


def poscar(symbols, scaled_ac, lattice_cv):
    counts = [(symbol, symbols.count(symbol)) for symbol in dict.fromkeys(symbols)]
    words = "\n".join([
        "x", "1", *(" ".join(map(str, row)) for row in lattice_cv), " ".join(s for s, _ in counts),
        " ".join(str(n) for _, n in counts), "Direct", *(" ".join(map(str, row)) for row in scaled_ac),
    ])  # fmt: skip
    return parse_poscar(words + "\n", "POSCAR")


def fields(scale=1.0, atoms=2, unit="eV", **more):
    place_ac = np.stack([np.arange(atoms) / atoms, np.arange(atoms) / atoms, np.full(atoms, 0.02)], axis=1)
    cell = poscar(["Si"] * atoms, place_ac.tolist(), np.diag([4.0, 5.0, 25.0]))
    wave_R = scale * (0.3 + np.cos(2 * np.pi * np.arange(30) / 30)[None, None] * np.ones((8, 8, 1)))
    what = "magnetisation density z" if more.get("signed") else "electrostatic potential"
    return [Field("X", what, unit, wave_R, cell, **more)] * 2, lattice_plane(cell, 2)


def trajectory(elements, frames=40, scale=1.0):
    random = np.random.default_rng(0)
    place_tav = np.cumsum(scale * 0.01 * random.normal(size=(frames, len(elements), 3)), axis=0)
    place_tav = place_tav + 8.0 * random.random((len(elements), 3))
    return ReadTrajectory(
        np.arange(frames) * 2.0, np.tile(8 * np.eye(3), (frames, 1, 1)), place_tav, np.gradient(place_tav, axis=0),
        tuple(elements), np.ones(len(elements)),
    )  # fmt: skip


def nucleus(states=4, nmax=4, hw=20.0, interaction="JISP16", nucleus="4He", spread=1.0):
    about = {
        "nucleus": nucleus, "Z": 2, "N": 2, "interaction": interaction, "srg_lambda": 2.0, "hw": hw, "Nmax": nmax,
        "twice_M": 0, "parity": (-1) ** nmax, "coulomb": True,
    }  # fmt: skip
    zero = np.zeros(states)
    return Levels(about, states, states, -25.0 - 2.0**-nmax + spread * np.arange(states), zero, True, zero, zero)


CASES = {
    **{f"scf {n} {scale:g} {k}": lambda n=n, scale=scale, k=k: convergence_figure(steps_of(n, scale), TITLES[k], 1e-7)
       for n, scale, k in ((7, 1.0, 0), (7, 1.0, 1), (1, 1.0, 1), (300, 1e-9, 1), (2, 3e7, 0))},
    "scf, one size": lambda: convergence_figure(steps_of(9, 4e-5, fall=0.99), TITLES[1], 3e-5),
    "scf, density kept": lambda: convergence_figure(steps_of(9, residual=False), TITLES[1], 1.23456e-07),
    "bands": lambda: bands_figure(bands_document(), TITLES[0]),
    "bands, crowded": lambda: bands_figure(bands_document(labels=CROWDED), TITLES[1]),
    "bands, all at once": lambda: bands_figure(bands_document(labels=dict.fromkeys(range(40), "GAMMA")), TITLES[1]),
    "bands, narrow": lambda: bands_figure(bands_document(scale=1e-9), TITLES[0], window=(-1e-7, 2e-7)),
    "bands+dos": lambda: bands_figure(
        bands_document(), TITLES[1], dos(scale=1e-9), None, "Gaussian\nbroadening\n0.15 eV"),
    "bands+dos, wide": lambda: bands_figure(bands_document(), "Si2", dos([f"{LONG} {i} x2-y2" for i in range(16)])),
    **{f"dos {scale:g} {k}": lambda scale=scale, k=k: dos_figure(dos(scale=scale), 0.0, "valence band top", TITLES[k])
       for k, scale in enumerate(SCALES[:2])},
    "dos, wide": lambda: dos_figure(
        dos([f"Ni{i} (m > 0) x2-y2" for i in range(16)], scale=3e7), 0.0, "Fermi level", TITLES[1]),
    "eos": lambda: eos_figure(eos_document(np.linspace(18, 22, 7)), TITLES[1]),
    "eos, flat": lambda: eos_figure(eos_document(np.linspace(19.9999, 20.0001, 3), 1e-6), TITLES[0]),
    "eos, steep": lambda: eos_figure(eos_document(np.linspace(1, 900, 40), 100.0), TITLES[1]),
    "eos, no curve": lambda: eos_figure(eos_document([20.0], fit=False), TITLES[0]),
    "converge": lambda: converge_figure(converge_document(), TITLES[0]),
    "converge, long": lambda: converge_figure(converge_document(30, ("k-points",), 1e-9), TITLES[1]),
    "converge, ten": lambda: converge_figure(converge_document(9, ("k-points", "smearing"), 1e5), TITLES[1]),
    **{f"neb {n} {scale:g}": lambda n=n, scale=scale, k=k: path_figure(path_document(n, scale), TITLES[k])
       for k, (n, scale) in enumerate(((5, 1.0), (60, 1e-9)))},
    "neb, high": lambda: path_figure(path_document(12, 3e7), TITLES[1]),
    **{f"ionic {n} {scale:g}": lambda n=n, scale=scale, m=m: ionic_figure(
        ionic_steps(n, scale, m), TITLES[n > 5], 0.02, 9)
       for n, scale, m in ((2, 1.0, False), (8, 1e-9, False), (2000, 3e7, True), (30, 1.0, True))},
    **{f"trajectory {len(names)}": lambda names=names, k=k: trajectory_figure(trajectory(names), TITLES[k])
       for k, names in enumerate((["Si", "Si"], ["Hg", "Ba", "Ca", "Cu", "O"]))},
    "structure": lambda: structure_figure(
        np.diag([4.0, 4, 4]), np.zeros((1, 3)), ["Po"], TITLES[0], np.array([2.0])),
    "structure, many": lambda: structure_figure(
        np.diag([9.0, 9, 2]), np.random.default_rng(0).random((16, 3)),
        "Hg Ba Ca Cu O La Cl Fe Ni Co Ti Zr Hf Pt Au Ag".split(), TITLES[1]),
    "potential": lambda: field_figure(*fields(), 2, TITLES[0], -0.5),
    "potential, small": lambda: field_figure(*fields(1e-5, atoms=9), 2, TITLES[1], -1e-6),
    "density": lambda: field_figure(*fields(3e7, 3, "electrons/Å³", logarithmic=True), 0, TITLES[1]),
    "density, one size": lambda: field_figure(*fields(0.0, 40, "electrons/Å³", logarithmic=True), 1, TITLES[1]),
    "magnetisation": lambda: field_figure(*fields(1e-5, 3, "μB/Å³", signed=True), 0, TITLES[0]),
    "levels": lambda: level_plot.levels_figure([nucleus(), nucleus(nmax=6)]),
    "levels, many": lambda: level_plot.levels_figure(
        [nucleus(30, nmax, interaction=f"interaction_of_somebody_else_{nmax}.me2b", spread=0.01)
         for nmax in (2, 4, 6)]),
    "levels, one": lambda: level_plot.levels_figure(
        [nucleus(1, interaction="interaction_of_somebody_with_a_name.me2b")]),
    "convergence of nuclei": lambda: level_plot.convergence_figure(
        [nucleus(1, nmax, hw) for nmax in range(2, 13) for hw in np.linspace(10, 42.5, 9)]),
    "convergence of kinds": lambda: level_plot.convergence_figure(
        [nucleus(1, nmax, 20.0, f"interaction_of_somebody_else_{i}.me2b") for nmax in (2, 4, 6) for i in range(7)]),
}  # fmt: skip


ONE_OF_A_KIND = {case.split(",")[0].split(" ")[0]: case for case in CASES}
"""Kind of picture -> the last one of it; the others are slow."""


@pytest.mark.fast(
    "eos, no curve",
    "neb, high",
    "levels, one",
    "convergence of kinds",
    "scf, density kept",
    "bands, narrow",
    "dos, wide",
)
@pytest.mark.parametrize("case", but_slow(tuple(CASES), *CASES.keys() - ONE_OF_A_KIND.values()))
def test_words_stand_apart_and_whole(case):
    assert faults_of(CASES[case]()) == []


def test_the_shortest_title_costs_nothing_and_a_second_time_changes_nothing():
    figure = convergence_figure(steps_of(7), "Si2", 1e-7)
    before = figure.get_size_inches()[1]
    ready(figure)
    once = figure.get_size_inches()[1]
    ready(figure)
    assert before < once == figure.get_size_inches()[1] < before + 0.3


def test_faults_are_found():
    """A title across the edge, a legend on a curve, names along an axis that touch."""
    figure = Figure(figsize=(3, 2))
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], label="a")
    axes.legend()
    axes.set_xticks([0.5, 0.51], ["one name", "another"])
    figure.set_gid("ready")
    axes.set_title("x" * 80)
    assert {words.split(":")[0] for words in faults_of(figure)} == {"cut", "overlap", "legend on a panel"}


@pytest.mark.parametrize(
    ("ticks", "words"),
    [
        ([0.0, 0.5, 1.0], ["0", "0.5", "1.0"]),
        ([-1000.25, -1000.0, -999.75], ["−1000.25", "−1000.00", "−999.75"]),
        ([1e-9, 2e-9], ["1e−09", "2e−09"]),
        ([0.0, 2.5e-5, 5e-5], ["0", "2.5e−05", "5.0e−05"]),
        ([1e7, 1.0000001e7], ["1.0000000e07", "1.0000001e07"]),
        ([0, 500, 1000], ["0", "500", "1000"]),
        ([-1e-17, 0.1], ["0", "0.1"]),
        ([0.0], ["0"]),
        ([], []),
    ],
)
def test_numbers_of_an_axis_are_whole(ticks, words):
    assert numbers(ticks) == words


def test_a_legend_without_labels_is_none():
    axes = Figure().subplots()
    legend_above(axes)
    assert axes.get_legend() is None
