"""HfO2 with 216 atoms by HSE06 on GPUs: t_init + n t_iter + t_post from measured applications.

    python benchmarks/hybrids/projection.py

Measured on 2 and 4 GPUs (`application.py`, on_device.json): steps with PBE up to the first application, that, a step
with the operator; on 4 the pass of forces and stress, too, which on 2 is taken as twice that.  How these become shorter
with more GPUs is what `eigenwerk plan` says (no communication of exchange): prediction, not measurement.
"""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from vasp_folders import folder_or_job  # noqa: E402

JOB = "hfo2_216"
ITERATIONS, STEPS_BETWEEN = 5, 6
"""Applications of hfo2_96 to EDIFF = 1E-6, and steps of self-consistency after each."""

PUBLISHED_HOURS = "over 7.5 h on 8 A100 (VASP 6.3.2), without forces"


def planned(folder: Path, gpus: int) -> tuple[float, float]:
    """Seconds of an application and of a step, as `eigenwerk plan` has them."""
    words = [sys.executable, "-m", "eigenwerk.cli.main", "plan", str(folder), "--gpus", str(gpus), "--memory", "139GB"]
    plan = json.loads(subprocess.run([*words, "--json"], capture_output=True, text=True, check=True).stdout)["plan"]
    return plan["exchange"]["seconds"], plan["step"]["seconds"]


def measured(record: dict[str, Any]) -> tuple[float, float, float]:
    """Seconds up to the first application, of that, of a step with the operator."""
    seconds = [one["seconds"] for one in record["steps"]]
    renewing = next(x for x, one in enumerate(record["steps"]) if one["told"])
    before = record["seconds_of_all"] - sum(seconds) - (record.get("passes_of_forces_seconds") or 0.0)
    return before + sum(seconds[:renewing]) + seconds[renewing - 1], record["application_seconds"], seconds[-1]


def main() -> None:
    """One row for each number of GPUs."""
    records = json.loads((HERE / "on_device.json").read_text())["applications"]
    of_ranks = {one["ranks"]: one for one in records if one["job"] == JOB and "ranks" in one}
    forces = of_ranks[4]["passes_of_forces_seconds"]
    with TemporaryDirectory() as place:
        folder = Path(place)
        for file in Path(folder_or_job(JOB)).iterdir():
            if file.is_file():
                (folder / file.name).write_bytes(file.read_bytes())
        with (folder / "INCAR").open("a") as incar:
            incar.write("\nLHFCALC = .TRUE.\nHFSCREEN = 0.2\n")
        print(f"{of_ranks[4]['device']}; published: {PUBLISHED_HOURS}")
        print("| GPUs | t_init (s) | application (s) | step (s) | t_post (s) | all (s) | plan, H200: both |")
        print("|---|---|---|---|---|---|---|")
        four = planned(folder, 4)
        for gpus in (2, 4, 8, 16, 32, 64):
            plan = planned(folder, gpus)
            if gpus in of_ranks:
                init, application, step = measured(of_ranks[gpus])
                post = forces * 4 / gpus
            else:
                init, application, step = measured(of_ranks[4])
                init, step = init * plan[1] / four[1], step * plan[1] / four[1]
                application, post = application * plan[0] / four[0], forces * plan[0] / four[0]
            whole = init + ITERATIONS * (application + STEPS_BETWEEN * step) + post
            mark = "**" if gpus in of_ranks else ""
            print(f"| {gpus} | {init:.0f} | {mark}{application:.1f}{mark} | {mark}{step:.2f}{mark} | {post:.0f} | "
                  f"{whole:.0f} | {plan[0]:.1f}, {plan[1]:.2f} |")  # fmt: skip


if __name__ == "__main__":
    main()
