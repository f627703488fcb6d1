"""Every number of the reference folder that a processor reaches in minutes, beside ours; writes results.md.

    OMP_NUM_THREADS=1 python benchmarks/ncci/compare.py [--only WORD] [--largest DIMENSION]

The folder `shared/reference/ncci` has to stand beside the repository.
"""

import argparse
import csv
import pickle
import re
import time
from pathlib import Path

from bigstick_densities import compare_densities
from comparison import Comparison, rounding, short
from mfdn_levels import compare_levels, with_resting_species
from mfdn_transitions import compare_elements, compare_old_transitions
from our_runs import FOLDER, case_text, our_run, run_from_two_files, run_with_unit_charge

from eigenwerk.ncci.basis.counting import count
from eigenwerk.ncci.basis.space import no_core_space

HERE = Path(__file__).resolve().parent
REFERENCE = HERE.parents[2] / "shared" / "reference" / "ncci"
MFDN, TABLES, VALENCE = REFERENCE / "mfdn-results", REFERENCE / "tables", REFERENCE / "valence"
DAEJEON = str(REFERENCE / "relative" / "daejeon16_hw25.txt")
USUAL = ["radii", "spins", "moments", "occupations", "quanta", "center_of_mass", "terms"]
CORES = {"CKPOT": [2, 2], "USDB": [8, 8], "GXPF1A": [20, 20], "JUN45": [28, 28]}

NOTES = (
    "The transition files (6Li, Daejeon16, hw 20) belong to a run with e^2 = 1 MeV fm in the Coulomb force, and their "
    "E2 elements are multiplied by the squared oscillator length once more: with both, every element agrees. We take "
    "a run of ours that has the same e^2, and multiply our E2 elements by b^2.",
    "Li6E_NNLOopt_Nmax10.txt: at hw 23.74 we find -28.2155 MeV (published -28.215), 9 357 885 states with M = 1, by "
    "pairs in single precision, twenty minutes on one busy core; not counted above.",
    "6Li, Nmax 4: r_pp, r_nn and r_pn in MFDn's files take the centre of mass of the protons, and that of the "
    "neutrons, to be in its 0s state, which changes how their sum is split; at Nmax 2 they do not. There we take "
    "numbers made in the same way from our r_p and r_n. Our split comes out the same from r_i^2 + r_j^2 - 2 r_i.r_j "
    "and, by brackets, from r^2 in relative coordinates.",
)


def lithium(size: int, twice_m: int, hw: float = 15.0, states: int = 8, observables: list[str] | None = None) -> str:
    """6Li with Daejeon16 and Coulomb."""
    return case_text(
        nucleus="6Li", interaction=DAEJEON, hw=hw, Nmax=size, M=twice_m // 2, states=states,
        observables=observables or USUAL, solver={"tolerance": 1e-7},
    )  # fmt: skip


def mfdn_files(comparison: Comparison, largest: int) -> None:
    """All files of MFDn."""
    for path in sorted(MFDN.iterdir()):
        name = path.name
        if match := re.match(r"runmfdn13(gpu)?-.*Nmax0(\d)-Mj(\d)\.0", name):
            result = our_run(lithium(int(match[2]), 2 * int(match[3])))
            levels = with_resting_species(result.levels) if match[2] == "4" else result.levels
            compare_levels(comparison, path, levels, other_is_garbled=bool(match[1]))
            for what, why in (
                ("<Lp^2>, <Ln^2>", "no expectation values: negative in MFDn's 18O file"),
                ("CSU3, CSp3R", "Casimir operators that eigenwerk does not have"),
                ("Tcm", "the number 3 hw/4 in every row"),
            ):
                comparison.skip(short(path), what, why)
            if match[1]:
                comparison.skip(short(path), "Other 2-body observables", "columns and rows are mixed up in the file")
        elif name.startswith("runmac0428"):
            keys = {"nucleus": "7Be", "interaction": "JISP16", "hw": 20.0, "Nmax": 4, "M": 0.5, "states": 10}
            keys |= {"observables": [*USUAL, "transitions"], "lawson": 20.0, "solver": {"tolerance": 1e-7}}
            result = our_run(case_text(**keys))
            compare_levels(comparison, path, result.levels)
            _old_details(comparison, path, result)
            compare_old_transitions(comparison, path, result)
        elif name.startswith("example01"):
            keys = {"nucleus": "4He", "interaction": "JISP16", "hw": 20.0, "Nmax": 2, "states": 1, "observables": USUAL}
            result = our_run(case_text(**keys))
            compare_levels(comparison, path, result.levels)
            _old_details(comparison, path, result)
        elif "usdb" in name and name.startswith("runmfdn16"):
            nucleus, m = ("18O", 0) if "Z8" in name else ("25Mg", 0.5)
            keys = {"nucleus": nucleus, "interaction": str(VALENCE / "usdb.snt"), "M": m, "states": 8}
            compare_levels(comparison, path, our_run(case_text(**keys, observables=USUAL)).levels)
        elif name.startswith("runtransitions"):
            wanted = ["spins", "transitions"]
            runs = [run_with_unit_charge(lithium(2, m, 20.0, 30, wanted)) for m in (2, 0)]
            compare_elements(comparison, path, runs)
        elif name.startswith("bigstick"):
            _bigstick(comparison, path)
        elif name.startswith("runmfdn16"):
            keys = {"nucleus": "25Mg", "interaction": "USD", "M": 0.5, "states": 8}
            text = case_text(**keys, observables=USUAL)
            result = run_from_two_files(text, VALENCE / "w-U.dat", VALENCE / "w-V.dat")
            compare_levels(comparison, path, result.levels)
    for name, what, why in (
        ("run0352...9Be Nmax 10", "all", "574 827 349 states, 6.7e11 nonzeros"),
        ("MFDn.res...9Be Nmax 13", "all", "10 749 500 884 states"),
        ("run0381...10Be N2LOopt500 Nmax 7", "all", "19 264 751 states"),
    ):
        comparison.skip(name, what, why)


def _old_details(comparison: Comparison, path: Path, result) -> None:
    """The blocks `Next state` of version 14: energies and radii to 5 digits, occupations to 6."""
    levels, state = result.levels, -1
    energies, radii, occupations = [], [], []
    labels = {s: [tuple(row) for row in levels.orbitals[s].tolist()] for s in "pn"}
    for line in path.read_text().splitlines():
        words = line.split()
        if line.startswith("Next state"):
            state += 1
            energies.append((f"state {state + 1}", float(words[-1]), float(levels.energy_n[state]), 0.5001e-5))
        elif "RMS radius" in line and state >= 0:
            for key, word in zip(("r_p", "r_n", "r_matter"), words[-3:], strict=True):
                radii.append((f"{key} {state + 1}", float(word), float(levels.values[key][state]), 0.5001e-5))
        elif "Orb. Occ." in line and state >= 0:
            label = tuple(int(word) for word in words[-5:-2])
            for species, word in zip("pn", words[-2:], strict=True):
                if label in labels[species]:
                    ours = levels.values[f"occupations_{species}"][state, labels[species].index(label)]
                    occupations.append((f"{species} {label} {state + 1}", float(word), float(ours), 0.5001e-6))
    comparison.add(short(path), "energy", energies)
    comparison.add(short(path), "radius", radii)
    comparison.add(short(path), "occupation", occupations)


def _bigstick(comparison: Comparison, path: Path) -> None:
    """Energies, J, T and the one-body densities between states."""
    keys = {"nucleus": "25Mg", "interaction": str(VALENCE / "usdb.snt"), "M": 0.5, "states": 10, "observables": []}
    result = our_run(case_text(**keys, solver={"tolerance": 1e-8}))
    levels = result.levels
    energies, spins, isospins = [], [], []
    for line in path.read_text().splitlines():
        if match := re.match(r"\s+(\d+)\s+(-\d+\.\d{5})\s+\d+\.\d{5}\s+(\d+\.\d{3})\s+(\d+\.\d{3})\s*$", line):
            n = int(match[1]) - 1
            energies.append((f"state {n + 1}", float(match[2]), float(levels.energy_n[n]), 0.5001e-5))
            spins.append((f"state {n + 1}", float(match[3]), float(levels.j_n[n]), 0.5001e-3))
            isospins.append((f"state {n + 1}", float(match[4]), float(levels.isospin_n[n]), 0.5001e-3))
    comparison.add(path.name, "energy", energies)
    comparison.add(path.name, "J", spins)
    comparison.add(path.name, "T", isospins)
    compare_densities(comparison, path, result)


def dimensions(comparison: Comparison) -> None:
    """dims_nnz.csv: all dimensions and nonzeros, by counting."""
    dims, nonzeros = [], []
    with (TABLES / "dims_nnz.csv").open() as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            z, n, size, twice_m = (int(row[key]) for key in ("Z", "N", "Nmax", "twoM"))
            found = count(no_core_space(z, n, size, twice_m))
            title = f"{row['nucleus']} Nmax {size}"
            dims.append((title, float(row["dim"]), float(found.dimension), 0.0))
            nonzeros.append((title, float(row["nnz_half"]), float(found.nonzeros), 0.0))
    comparison.add("dims_nnz.csv, dimensions", "count", dims)
    comparison.add("dims_nnz.csv, nonzeros", "count", nonzeros)


def energies(comparison: Comparison, largest: int) -> None:
    """reference_energies.csv: no-core cases up to `largest` states."""
    built_in = {"JISP16": "JISP16", "Daejeon16": DAEJEON, "Minnesota(u=1)": "Minnesota", "N2LOopt500": "NNLOopt"}
    for row in _rows("reference_energies.csv"):
        title = f"{row['interaction']} {row['nucleus']} hw {row['hw']} Nmax {row['Nmax']}"
        if row["interaction"] not in built_in:
            comparison.skip("reference_energies.csv", title, "the interaction's table is not free")
        elif not row["dim"]:
            comparison.skip("reference_energies.csv", title, "relative basis: a test of the interactions (tests/ncci)")
        elif int(row["dim"]) > largest:
            comparison.skip("reference_energies.csv", title, f"{int(row['dim']):_} states".replace("_", " "))
        else:
            keys = {"nucleus": row["nucleus"], "interaction": built_in[row["interaction"]], "hw": float(row["hw"])}
            keys |= {"Nmax": int(row["Nmax"]), "M": int(row["twoM"]) / 2, "coulomb": row["C"] == "1"}
            if int(row["dim"]) > 500_000:
                keys |= {"solver": {"backend": "pairs", "space": 60}}
            _energy_list(comparison, "reference_energies.csv", title, row, keys)


def valence_energies(comparison: Comparison, largest: int) -> None:
    """reference_energies_valence.csv: whole valence spaces up to `largest` states."""
    files = {
        "CKPOT": {"interaction": str(VALENCE / "ckpot.snt")},
        "USDB": {"interaction": str(VALENCE / "usdb.snt")},
        "GXPF1A": {"interaction": str(VALENCE / "gx1a.int"), "orbitals": str(VALENCE / "fp.sp"), "core": [20, 20]},
        "JUN45": {
            "interaction": _without_typographic_minus(VALENCE / "JUN45.int"),
            "orbitals": str(VALENCE / "pfg.sps"), "core": [28, 28], "scaling": [58, -0.3],
        },
    }  # fmt: skip
    for row in _rows("reference_energies_valence.csv"):
        title = f"{row['interaction']} {row['nucleus']}"
        if row["interaction"] not in files:
            comparison.skip("reference_energies_valence.csv", title, "the interaction's file is not free")
        elif not row["dim"] or int(row["dim"]) > largest:
            comparison.skip("reference_energies_valence.csv", title, "too many states")
        else:
            keys = {"nucleus": row["nucleus"], **files[row["interaction"]], "M": int(row["twoM"]) / 2}
            _energy_list(comparison, "reference_energies_valence.csv", title, row, keys)


def _energy_list(comparison: Comparison, source: str, title: str, row: dict[str, str], keys: dict) -> None:
    printed = row["energies"].split()
    states = len(printed) + (2 if int(row["dim"]) > 100 else 0)
    solver = {"tolerance": 1e-6} | keys.pop("solver", {})
    text = case_text(**keys, states=states, observables=["center_of_mass"], solver=solver)
    levels = our_run(text).levels
    pairs = [
        (f"{title} state {n + 1}", float(word), float(levels.energy_n[n]), rounding(word))
        for n, word in enumerate(printed)
    ]
    comparison.add(f"{source}, {title}", "energy", pairs)
    comparison.add(f"{source}, {title}", "count", [(title, float(row["dim"]), float(levels.dimension), 0.0)])


def _rows(name: str) -> list[dict[str, str]]:
    with (TABLES / name).open() as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def _without_typographic_minus(path: Path) -> str:
    """A copy that can be read; as it stands the file is refused, with the line."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    copy = FOLDER.resolve() / path.name
    copy.write_text(path.read_text(encoding="utf-8").replace("\u2212", "-"), encoding="utf-8")
    return str(copy)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="mfdn, dimensions, energies or valence; the rest is kept")
    parser.add_argument("--largest", type=int, default=2_000_000, help="most states of a case of the tables")
    chosen = parser.parse_args()
    begin = time.monotonic()
    parts = {
        "dimensions": dimensions,
        "mfdn": lambda comparison: mfdn_files(comparison, chosen.largest),
        "valence": lambda comparison: valence_energies(comparison, chosen.largest),
        "energies": lambda comparison: energies(comparison, chosen.largest),
    }
    FOLDER.mkdir(parents=True, exist_ok=True)
    whole = Comparison()
    for name, part in parts.items():
        kept = FOLDER / f"{name}.pickle"
        if chosen.only in (None, name):
            print(name, flush=True)
            found = Comparison()
            part(found)
            kept.write_bytes(pickle.dumps(found))
        if kept.exists():
            whole.join(pickle.loads(kept.read_bytes()))
    for words in NOTES:
        whole.note(words)
    whole.skip("Li6E_NNLOopt_Nmax10.txt", "15 of 16 energies", "9 692 634 states: fifteen minutes each")
    text = whole.text()
    (HERE / "results.md").write_text(text, encoding="utf-8")
    print(text.split("| file")[0], *whole.disagreements, f"{time.monotonic() - begin:.0f} s", sep="\n")


if __name__ == "__main__":
    main()
