"""What the comparison says: the floor of each cell, the machine, and the page."""

import os
import platform
import statistics
import time
from collections.abc import Callable
from datetime import date
from math import log2
from pathlib import Path
from typing import Any

Record = dict[str, Any]
OURS = {"eigenwerk": "eigenwerk", "single": "with Single"}
RIVALS = {"gpaw": "GPAW", "espresso": "Quantum ESPRESSO", "abinit": "ABINIT"}


def floor(record: Record, cores: int) -> Record:
    """Seconds that FFTs, matrix products and exchange-correlation of an eigenwerk run need at this machine's speed.

    Counted: two FFTs for each H psi and one for each orbital and density (half of that for real orbitals, which share
    a grid); per H psi 2 projector products and 56 n N_G flops of subspace work (two expansions: 21 n^2 products per
    3 n applications; a quarter for real ones); exchange-correlation at the points of the fine grid, at the measured
    time per point.  Perfect scaling over the cores.
    """
    import torch

    from eigenwerk.dft.xc.evaluation import energy_and_derivatives
    from eigenwerk.functionals.table import find_functional

    torch.set_num_threads(1)
    n_c = record["wave_grid"]
    wave_points = n_c[0] * n_c[1] * n_c[2]
    batch = max(1, 2**22 // (16 * wave_points))
    grid = torch.randn(batch, *n_c, dtype=torch.complex128)
    fft = _best(lambda: torch.fft.fftn(grid, dim=(-3, -2, -1))) / batch
    a, b = torch.randn(64, 1024, dtype=torch.complex128), torch.randn(1024, 64, dtype=torch.complex128)
    flop_seconds = _best(lambda: a @ b) / (8 * 64 * 64 * 1024)
    points = record["fine_grid"][0] * record["fine_grid"][1] * record["fine_grid"][2]
    density = torch.rand(record["spins"], 2**15, dtype=torch.float64) + 0.1
    sigma = torch.rand(2 * record["spins"] - 1, 2**15, dtype=torch.float64) * 0.1
    functional, values = find_functional("PE"), {"density": density, "sigma": sigma}
    xc = _best(lambda: energy_and_derivatives(functional, values)) / 2**15
    applied, orbitals = record["applications"], record["steps"] * record["kpoints"] * record["bands"] * record["spins"]
    flops = applied * record["plane_waves"] * (2 * 8 * record["projectors"] + 56 * record["bands"])
    share = 2 if record["real"] else 1
    parts = {
        "fft": (2 * applied + orbitals) * fft / share / cores, "products": flops * flop_seconds / share**2 / cores,
        "xc": record["steps"] * points * xc / cores,
    }  # fmt: skip
    rate = 5 * wave_points * log2(wave_points) / fft / 1e9
    speeds = {"fft_us": fft * 1e6, "fft_gflops": rate, "zgemm_gflops": 1e-9 / flop_seconds}
    return parts | {"sum": sum(parts.values())} | speeds


def _best(work: Callable[[], object], repeats: int = 20) -> float:
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def machine() -> Record:
    """What the numbers were measured on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
    family = [line.split(":")[1].strip() for line in lines if line.startswith(("cpu family", "model\t"))][:2]
    return {
        "date": date.today().isoformat(), "processor": model, "family_model": family, "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0], "python": platform.python_version(), "system": platform.platform(),
    }  # fmt: skip


def markdown(result: Record) -> str:
    """The result as a page."""
    records, cells = result["runs"], list(result["settings"])
    versions = {r["code"]: r["version"] for r in records}
    rivals = [code for code in RIVALS if code in versions]
    about = ", ".join(f"{key} {value}" for key, value in result["machine"].items())
    named = ", ".join(f"{RIVALS[code]} {versions[code]}" for code in rivals)
    lines = [
        "# Eight cells beside other codes", "", f"eigenwerk {versions.get('eigenwerk')}, {named}; {about}.", "",
        f"Medians, alternating, of {_repeats(records, cells)} runs; rivals twice as slow as the fastest one ran once.",
        "Ratio: the fastest rival's seconds over eigenwerk's (with PRECISION_START = Single); above 1 eigenwerk "
        "is faster.",
        "", "## Without start-up, seconds", "", *_table(records, cells, rivals, "seconds", result["floors"]),
        "", "## Whole command, seconds", "", *_table(records, cells, rivals, "wall_seconds", {}),
        "", "## Whole command, processor seconds (of both cores; waiting ranks count as working)", "",
        *_table(records, cells, rivals, "cpu_seconds", {}),
        "", "## Steps and errors of the free energy (eV, against each code's own tight result)", "",
        *_steps(records, cells, rivals),
    ]  # fmt: skip
    for cell in cells:
        ours = _runs(records, "eigenwerk", cell)
        if ours:
            parts = ", ".join(f"{key} {value:.3g}" for key, value in result["floors"][cell].items())
            lines += ["", f"## {cell}: where the time goes", "", f"Floor: {parts}."]
            trace = ours[-1]["trace"]
            lines += ["", "```", *_phases(trace["phases"], trace["seconds"]), "```"]
    return "\n".join(lines) + "\n"


def _phases(phases: list[Record], total: float, depth: int = 0) -> list[str]:
    """Name, calls, seconds and share of each phase, inner phases below their outer one."""
    lines = []
    for phase in phases:
        name = "  " * depth + phase["name"]
        share = 100 * phase["seconds"] / total
        lines.append(f"{name:<36}{phase['calls']:>9}{phase['seconds']:>11.3f}{share:>7.1f}%")
        lines += _phases(phase["children"], total, depth + 1)
    return lines


def _repeats(records: list[Record], cells: list[str]) -> str:
    """How many times each cell ran: 5 (Si2, Al4) and 3 (Si64)."""
    by_count: dict[int, list[str]] = {}
    for cell in cells:
        by_count.setdefault(1 + max(r["repeat"] for r in records if r["cell"] == cell), []).append(cell)
    return " and ".join(f"{count} ({', '.join(names)})" for count, names in sorted(by_count.items(), reverse=True))


def _runs(records: list[Record], code: str, cell: str) -> list[Record]:
    return [r for r in records if r["code"] == code and r["cell"] == cell]


def _table(records: list[Record], cells: list[str], rivals: list[str], key: str, floors: Record) -> list[str]:
    """Seconds of all codes, the ratio, and the floor where there is one."""
    floor_head, floor_rule = (" floor |", "---|") if floors else ("", "")
    names = OURS | RIVALS
    codes = [*OURS, *rivals]
    lines = [f"| cell | {' | '.join(names[code] for code in codes)} | ratio (Single) |{floor_head}",
             f"|---|{'---|' * len(codes)}---|{floor_rule}"]  # fmt: skip
    for cell in cells:
        seconds = {
            code: statistics.median(r[key] for r in _runs(records, code, cell))
            for code in codes
            if _runs(records, code, cell)
        }
        shown = [f"{seconds[code]:.2f}" if code in seconds else "" for code in codes]
        others = [seconds[code] for code in rivals if code in seconds]
        ratios = [f"{min(others) / seconds[code]:.2f}" for code in OURS if others and code in seconds]
        ratio = ratios[0] + "".join(f" ({single})" for single in ratios[1:]) if ratios else ""
        floor_cell = f" {floors[cell]['sum']:.2f} |" if cell in floors else ""
        lines.append(f"| {cell} | {' | '.join(shown)} | {ratio} |{floor_cell}")
    return lines


def _steps(records: list[Record], cells: list[str], rivals: list[str]) -> list[str]:
    codes = [*OURS, *rivals]
    lines = [f"| cell | {' | '.join(codes)} |", f"|---|{'---|' * len(codes)}"]
    for cell in cells:
        shown = [
            f"{runs[-1]['steps']}: {runs[-1]['error_eV']:.0e}" if (runs := _runs(records, code, cell)) else ""
            for code in codes
        ]
        lines.append(f"| {cell} | {' | '.join(shown)} |")
    return lines
