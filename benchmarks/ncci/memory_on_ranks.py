"""How much memory do several ranks of one machine take in all, beside one rank?

    python benchmarks/ncci/memory_on_ranks.py 7Li 6 --ranks 1 6

Whole runs of `eigenwerk ncci run`, JISP16 at 20 MeV, stored blocks in single precision, a few Lanczos steps.  Memory is
the proportional set size of all processes together (a page that k of them have counts 1/k for each), the largest sum
that was seen; looked at several times a second.  Beside it what `eigenwerk ncci check --ranks` says of all ranks
together.  Rows of a table in Markdown.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from eigenwerk.ncci.estimate import estimate
from eigenwerk.ncci.inputs.inputs import read_cases
from eigenwerk.ncci.sources import source_of

CASE = """nucleus = "{nucleus}"
interaction = "JISP16"
hw = 20.0
Nmax = {nmax}
states = 1
[solver]
backend = "{backend}"
precision = "single"
space = 20
products = 10
fixed = true
"""


def main() -> None:
    """Runs the case by every number of ranks."""
    options = _options()
    titles = "ranks", "layout", "memory in all (MB)", "of one rank", "largest rank (MB)", "estimated (MB)", "ratio"
    print(f"| {' | '.join(titles)} | seconds |\n|{'---|' * 8}")
    one = None
    for ranks in options.ranks:
        for layout in options.layout if ranks > 1 else ("auto",):
            most, largest, told, seconds = _measured(options, ranks, layout)
            one = one or most
            row = f"{most / 1e6:.0f} | {most / one:.2f} | {largest / 1e6:.0f}"
            row += f" | {told / 1e6:.0f} | {told / most:.2f} | {seconds:.0f}"
            print(f"| {ranks} | {layout} | {row} |", flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nucleus")
    parser.add_argument("nmax", type=int)
    parser.add_argument("--backend", default="csb")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 6])
    parser.add_argument("--layout", nargs="+", default=["triangle", "dealt"])
    parser.add_argument("--memory-gb", type=float, help="what each rank is told that it may use; default all")
    return parser.parse_args()


def _measured(options: argparse.Namespace, ranks: int, layout: str) -> tuple[int, int, float, float]:
    """Largest sum over processes, largest process, the estimate of that sum, seconds."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "case.toml"
        words = {name: getattr(options, name) for name in ("nucleus", "nmax", "backend")}
        text = CASE.format(**words)
        text += f"memory_gb = {options.memory_gb}\n" if options.memory_gb else ""
        path.write_text(text + (f'layout = "{layout}"\n' if options.backend == "csb" and ranks > 1 else ""))
        command = [sys.executable, "-m", "eigenwerk.cli.entry", "ncci", "run", str(path)]
        command += ["-o", f"{folder}/out", "--device", "cpu"]
        command += ["--ranks", str(ranks), "--transport", "gloo"] if ranks > 1 else []
        begin, most, largest = time.monotonic(), 0, 0
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while process.poll() is None:
            found = [_proportional(pid) for pid in _family(process.pid)]
            most, largest = max(most, sum(found)), max(largest, *found, 0)
            time.sleep(0.15)
        if process.returncode not in (0, 3):  # 3: not converged
            raise SystemExit(f"the run ended with {process.returncode}")
        return most, largest, _estimated(path, options.backend, ranks), time.monotonic() - begin


def _estimated(path: Path, backend: str, ranks: int) -> float:
    """Bytes of all ranks."""
    (case,) = read_cases(path)
    cost = estimate(source_of(case).problem(case), case.solver, case.states, "cpu", ranks).cost(backend)
    return ranks * cost.bytes(ranks)


def _family(pid: int) -> list[int]:
    """A process and all that it started."""
    found = [pid]
    for parent in found:
        for path in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                found += map(int, path.read_text().split())
            except OSError:
                continue
    return found


def _proportional(pid: int) -> int:
    """Bytes; none of a process that has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))


if __name__ == "__main__":
    main()
