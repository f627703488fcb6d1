"""HfO2 with 216 atoms by HSE06 on 1 to 64 H200: t_init + n t_iter + t_post from one measured application.

    python benchmarks/hybrids/projection.py

Measured on one GPU (on_device.json): the steps with PBE and the first application of hfo2_216; forces and stress of
hfo2_96, in units of its applications.  How an application and a step become shorter with GPUs is what `eigenwerk plan`
says (imbalance, pairs that are no longer done once, no communication of exchange): prediction, not measurement.
"""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from vasp_folders import folder_or_job  # noqa: E402

JOB = "hfo2_216"
ITERATIONS, STEPS_BETWEEN = 5, 6
"""Applications of hfo2_96 to EDIFF = 1E-6, and steps of self-consistency after each."""

FORCES = 24.8 / 17.6
"""Forces and stress of hfo2_96 in applications."""

PUBLISHED_HOURS = "over 7.5 h on 8 A100 (VASP 6.3.2)"


def planned(folder: Path, gpus: int) -> tuple[float, float]:
    """Seconds of an application and of a step, as `eigenwerk plan` has them."""
    words = [sys.executable, "-m", "eigenwerk.cli.main", "plan", str(folder), "--gpus", str(gpus), "--memory", "139GB"]
    plan = json.loads(subprocess.run([*words, "--json"], capture_output=True, text=True, check=True).stdout)["plan"]
    return plan["exchange"]["seconds"], plan["step"]["seconds"]


def main() -> None:
    """One row for each number of GPUs."""
    record = json.loads((HERE / "on_device.json").read_text())["applications"][-1]
    assert record["job"] == JOB
    seconds = [one["seconds"] for one in record["steps"]]
    renewing = next(x for x, one in enumerate(record["steps"]) if one["told"])
    start, step = sum(seconds[:renewing]) + seconds[renewing - 1], seconds[-1]
    application = record["application_seconds"]
    with TemporaryDirectory() as place:
        folder = Path(place)
        for file in Path(folder_or_job(JOB)).iterdir():
            if file.is_file():
                (folder / file.name).write_bytes(file.read_bytes())
        with (folder / "INCAR").open("a") as incar:
            incar.write("\nLHFCALC = .TRUE.\nHFSCREEN = 0.2\n")
        first = planned(folder, 1)
        print(f"measured on one: application {application:.0f} s (plan {first[0]:.0f}), step {step:.2f} s, "
              f"up to the first {start:.0f} s; published: {PUBLISHED_HOURS}")  # fmt: skip
        print("| GPUs | t_init (s) | t_iter (s) | t_post (s) | all (s) | efficiency |\n|---|---|---|---|---|---|")
        for gpus in (1, 2, 4, 8, 16, 32, 64):
            one, of_step = planned(folder, gpus)
            shorter, shorter_step = one / first[0], of_step / first[1]
            init = start * shorter_step
            each = application * shorter + STEPS_BETWEEN * step * shorter_step
            post = FORCES * application * shorter
            whole = init + ITERATIONS * each + post
            alone = start + ITERATIONS * (application + STEPS_BETWEEN * step) + FORCES * application
            share = 100 * alone / whole / gpus
            print(f"| {gpus} | {init:.0f} | {each:.0f} | {post:.0f} | {whole:.0f} | {share:.0f} % |")


if __name__ == "__main__":
    main()
