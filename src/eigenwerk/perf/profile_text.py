"""What `eigenwerk perf profile` says, as plain lines."""

import numpy as np

from eigenwerk.perf.communication_text import heading
from eigenwerk.perf.profile import PhaseUse, Profile
from eigenwerk.perf.tables import gigabytes_per_second, percent, seconds, size, spread, table

COLUMNS = ("phase", "calls", "seconds", "min", "max", "own", "uneven", "device", "share", "GB/s", "GFLOP/s")


def profile_lines(found: Profile) -> list[str]:
    """The whole report."""
    return [*heading(found.run), "", *_phases(found), "", *_laps(found), "", *_memory(found)]


def _phases(found: Profile) -> list[str]:
    several = len(found.run.ranks) > 1
    elapsed = float(found.elapsed_p.mean())
    rows = [
        *(_row(phase, elapsed) for phase in found.phases),
        {"phase": "everything else", **_times(found.rest_p, found.rest_p, elapsed)},
    ]
    hidden = {"device"} if not found.on_device else set()
    hidden |= set() if several else {"min", "max", "uneven"}
    head = [column for column in COLUMNS if column not in hidden]
    words = "Phases: seconds of the host's clock" + (", mean over ranks with smallest and largest" if several else "")
    return [words, *table(head, [[row.get(column, "") for column in head] for row in rows])]


def _row(phase: PhaseUse, elapsed: float) -> dict[str, str]:
    flops = phase.rate(phase.flops)
    return {
        "phase": "  " * phase.depth + phase.name,
        "calls": f"{phase.calls:.0f}",
        **_times(phase.second_p, phase.own_p, elapsed),
        "uneven": seconds(phase.uneven),
        "device": seconds(phase.device_seconds),
        "GB/s": gigabytes_per_second(phase.rate(phase.bytes)),
        "GFLOP/s": "" if flops is None else f"{flops / 1e9:.1f}",
    }


def _times(second_p: np.ndarray, own_p: np.ndarray, elapsed: float) -> dict[str, str]:
    low, mean, high = spread(second_p)
    share = percent(float(second_p.mean()) / elapsed)
    return {"seconds": mean, "min": low, "max": high, "own": seconds(float(own_p.mean())), "share": share}


def _laps(found: Profile) -> list[str]:
    rows = []
    for lap in found.laps:
        low, mean, high = spread(np.array(lap.seconds))
        rows.append((lap.name, str(len(lap.seconds)), mean, low, high, seconds(sum(lap.seconds))))
    rows.append(("elapsed", "", "", "", "", seconds(found.run.elapsed)))
    head = ("loop", "turns", "mean s", "shortest", "longest", "sum s")
    return ["LOOP is a step of self-consistency, LOOP+ an ionic step (of the slowest rank)", *table(head, rows)]


def _memory(found: Profile) -> list[str]:
    names = dict.fromkeys(name for rank in found.run.ranks for name in rank.peak_bytes)
    rows = []
    for name in names:
        peaks = [rank.peak_bytes[name] for rank in found.run.ranks if name in rank.peak_bytes]
        rows.append((name, size(min(peaks)), size(max(peaks))))
    return ["Largest memory of a rank", *table(("of", "smallest", "largest"), rows)] if rows else []
