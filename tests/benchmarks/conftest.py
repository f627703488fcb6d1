"""Fingerprints of the folders that scripts of the benchmarks make: those with which the stored results were measured.

Run as a program (`python tests/benchmarks/conftest.py jobs FOLDER`) it writes those of a folder of folders anew.
"""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

STORED = Path(__file__).resolve().parents[1] / "data" / "made_folders.json"


def fingerprint(folder: Path) -> dict:
    """Of INCAR and KPOINTS, and of the words in POSCAR, the text; of its numbers, a sum that tells each of them.

    Numbers of a POSCAR differ in the last digit between machines.
    """
    numbers, words = [], []
    for word in (folder / "POSCAR").read_text().split():
        try:
            numbers.append(float(word))
        except ValueError:
            words.append(word)
    text = (folder / "INCAR").read_text() + (folder / "KPOINTS").read_text() + " ".join(words)
    weights = np.sin(np.arange(1, len(numbers) + 1) ** 2)
    return {
        "text": hashlib.sha256(text.encode()).hexdigest()[:16],
        "count": len(numbers),
        "sum": float(np.sum(weights * numbers)),
    }


def fingerprints(folder: Path) -> dict[str, dict]:
    """Of all folders in a folder."""
    return {path.name: fingerprint(path) for path in sorted(folder.iterdir())}


@pytest.fixture(scope="session")
def check_made():
    """`check_made("jobs", folder)`: a folder holds the folders that were measured, and no others."""

    def check(benchmark, folder):
        found, stored = fingerprints(folder), json.loads(STORED.read_text())[benchmark]
        assert list(found) == list(stored)
        for name, wanted in stored.items():
            assert found[name] == {**wanted, "sum": pytest.approx(wanted["sum"], abs=1e-6)}, name

    return check


if __name__ == "__main__":
    benchmark, folder = sys.argv[1:]
    known = json.loads(STORED.read_text()) if STORED.exists() else {}
    known[benchmark] = fingerprints(Path(folder))
    STORED.write_text(json.dumps(known).replace("}, ", "},\n") + "\n")  # a line for each folder
