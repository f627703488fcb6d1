"""How near is the memory that `eigenwerk ncci check` names to what a run takes?

    python benchmarks/ncci/memory.py

Ten cases on a processor, each in a process of its own: largest resident memory beside the estimate for its back end.
Lanczos makes as many products as it keeps vectors, so that all memory it may use is used.  A table in Markdown.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from eigenwerk.ncci.estimate import planned
from eigenwerk.ncci.inputs.inputs import read_cases
from eigenwerk.ncci.sources import source_of

CASES = (
    ("4He", 6, "csb", "double", 100),
    ("4He", 8, "csb", "double", 100),
    ("4He", 8, "pairs", "double", 100),
    ("3H", 8, "csb", "double", 100),
    ("3H", 10, "csb", "double", 60),
    ("3H", 10, "pairs", "double", 60),
    ("3H", 10, "pairs", "single", 60),
    ("6Li", 4, "csb", "double", 100),
    ("7Li", 4, "csb", "single", 100),
    ("6Li", 6, "pairs", "double", 40),
)
"""Nucleus, Nmax, back end, precision, vectors kept."""

RUN = """
import resource, sys
from eigenwerk.ncci.inputs.inputs import read_cases
from eigenwerk.ncci.run import run_case
run_case(read_cases(sys.argv[1])[0])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def main() -> None:
    """Prints a row for each case."""
    print("| case | back end | precision | estimated (GB) | measured (GB) | ratio |\n|---|---|---|---|---|---|")
    for nucleus, nmax, backend, precision, space in CASES:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "case.toml"
            path.write_text(
                f'nucleus = "{nucleus}"\ninteraction = "JISP16"\nhw = 20.0\nNmax = {nmax}\nstates = 1\n[solver]\n'
                f'backend = "{backend}"\nprecision = "{precision}"\nspace = {space}\nproducts = {space}\nfixed = true\n'
            )
            (case,) = read_cases(path)
            estimated = planned(case, source_of(case).problem(case), "cpu")[0].cost(backend).bytes() / 1e9
            told = subprocess.run([sys.executable, "-c", RUN, str(path)], capture_output=True, text=True, check=True)
        measured = int(told.stdout.split()[-1]) / 1e9
        row = f"{estimated:.2f} | {measured:.2f} | {estimated / measured:.2f}"
        print(f"| {nucleus} Nmax {nmax} | {backend} | {precision} | {row} |", flush=True)


if __name__ == "__main__":
    main()
