"""The cases of a file one after the other, with their files; a series that was stopped goes on where it was."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from eigenwerk import __version__
from eigenwerk.errors import InputError
from eigenwerk.io.atomic_write import ensure_writable, replacing, together
from eigenwerk.io.bounded import read_json
from eigenwerk.io.folder_lock import lock_folder
from eigenwerk.io.trace_file import TRACE_FILE, write_trace_file
from eigenwerk.ncci.basis.counting import dimension
from eigenwerk.ncci.build import Say, fitting, silent
from eigenwerk.ncci.estimate import refuse_too_many
from eigenwerk.ncci.inputs.inputs import Case, number_text
from eigenwerk.ncci.inputs.same_input import fingerprints, refuse_different_inputs
from eigenwerk.ncci.inputs.usual_states import with_usual_states
from eigenwerk.ncci.results.levels import Levels
from eigenwerk.ncci.results.levels_file import read_levels, read_vectors, start_levels, write_levels
from eigenwerk.ncci.results.levels_res import res_text
from eigenwerk.ncci.results.levels_text import levels_lines
from eigenwerk.ncci.run import CaseResult, alone, run_case
from eigenwerk.ncci.solve.checkpoint import Checkpoint
from eigenwerk.ncci.solve.solving import Report
from eigenwerk.ncci.sources import source_of
from eigenwerk.parallel.device_clock import record_device
from eigenwerk.parallel.one_for_all import one_for_all
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.parallel.trace_records import gather_trace_records

TRACED = ("backend", "precision", "block", "products", "scheme", "layout", "block_rows", "nonzeros_max_over_mean")
"""What the record of a run says of the solver."""

LEVELS = "levels.h5"

PROGRESS = "unfinished-series.json"
"""The finished cases of a series and the fingerprints of what they were made from; gone with its last case."""


def run_series(
    cases: list[Case],
    output: Path,
    *,
    runtime: Runtime | None = None,
    report: Report | None = None,
    say: Say = silent,
) -> list[Levels]:
    """Compute the cases of a file one after the other and write their files below `output`.

    Each begins from the states of the one before where that is a smaller space of the same hw and parity.  What the
    runtime recorded is written last, also where the series was stopped.  One that was stopped keeps the cases that it
    had finished, as long as settings and files are the same.

    Of several ranks the first one writes.  Raises InputError if another run writes there, and where ranks have
    different inputs.
    """
    runtime = runtime or alone(cases[0].solver.device)
    say = say if runtime.writes else silent
    refuse_different_inputs(runtime.world, cases)
    cases, note = with_usual_states(cases)
    if note:
        say(note)
    for case in cases:
        refuse_too_many(case, dimension(source_of(case).problem(case).space), runtime.world.size)
        one_for_all(runtime.world, partial(_refuse_other_start, case))
    if len(cases) > 1:  # before the small ones have been computed
        largest = max(cases, key=lambda case: case.max_excitation or 0)
        fitting(largest, source_of(largest).problem(largest), runtime)
    lock = None

    def take() -> str:
        nonlocal lock
        ensure_writable(output)
        lock = lock_folder(output)
        return lock.note or ""

    if note := one_for_all(runtime.world, take):
        say(note)
    record_device(runtime.trace, runtime.device)
    try:
        levels = _series(cases, output, runtime, report, say)
        _write_trace(cases[0], output, runtime, levels)
        return levels
    except KeyboardInterrupt:
        _write_trace(cases[0], output, runtime, [])
        raise
    finally:
        if lock is not None:
            lock.release()


def _refuse_other_start(case: Case) -> None:
    """Raises InputError for results that it cannot start from."""
    start_levels(case)


def _write_trace(case: Case, output: Path, runtime: Runtime, series: Sequence[Levels]) -> None:
    """What all ranks recorded, with what they computed: `docs/formats/eigenwerk_trace.md`."""
    about: dict[str, Any] = {"system": case.title, "program_version": __version__}
    about["transport"], about["cases"] = runtime.world.transport, [_traced(levels) for levels in series]
    about["created"] = datetime.now(UTC).isoformat(timespec="seconds")
    records = gather_trace_records(runtime)
    one_for_all(runtime.world, lambda: write_trace_file(output / TRACE_FILE, records, about))


def _traced(levels: Levels) -> dict[str, Any]:
    """Of a finished case what tables of `eigenwerk perf schemes` need."""
    found = {name: levels.solver.get(name) for name in TRACED}
    return {"title": levels.about["title"], "states": levels.dimension, "nonzeros": levels.nonzeros} | found


def _series(cases: list[Case], output: Path, runtime: Runtime, report: Report | None, say: Say) -> list[Levels]:
    last: CaseResult | None = None
    levels: list[Levels] = []
    world, several = runtime.world, len(cases) > 1
    done: dict[str, Any] = one_for_all(world, partial(_progress, output)) if several else {}
    kept = [several and world.all(_is_kept(case, output / case_folder(case), done)) for case in cases]
    for case, is_kept, next_kept in zip(cases, kept, [*kept[1:], True], strict=True):
        folder = output / case_folder(case) if several else output
        one_for_all(world, partial(ensure_writable, folder, within=output))
        say(case.title)
        if is_kept:
            levels.append(read_levels(folder / LEVELS))
            say(f"kept       {folder / LEVELS}, which an unfinished run of this series has written")
            last = None if next_kept else _read_again(case, folder, levels[-1])
            continue
        known = last if last is not None and last.case.hw == case.hw else None
        if known is not None and known.problem.space.parity != source_of(case).problem(case).space.parity:
            known = None
        last = run_case(case, runtime=runtime, start=known, checkpoint=folder / "checkpoint", report=report, say=say)
        one_for_all(world, partial(write_results, folder, last))
        Checkpoint(folder / "checkpoint", {}, world).remove()
        levels.append(last.levels)
        if several:
            one_for_all(world, partial(_keep_progress, output, done, case))
    one_for_all(world, lambda: (output / PROGRESS).unlink(missing_ok=True))
    return levels


def _progress(output: Path) -> dict[str, Any]:
    """What an unfinished series has finished; nothing where the file cannot be read."""
    try:
        found = read_json(output / PROGRESS)
    except (InputError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _keep_progress(output: Path, done: dict[str, Any], case: Case) -> None:
    """Adds a case that is finished; on the first rank, whose list it is from then on."""
    done[case_folder(case)] = fingerprints([case])
    with replacing(output / PROGRESS) as new:
        new.write_text(json.dumps(done, indent=1), encoding="utf-8")


def _is_kept(case: Case, folder: Path, done: dict[str, Any]) -> bool:
    """Whether an unfinished series has finished this case, from the same settings and files."""
    known = done.get(case_folder(case))
    return known is not None and (folder / LEVELS).is_file() and known == fingerprints([case])


def _read_again(case: Case, folder: Path, levels: Levels) -> CaseResult:
    """The result of a case from its file."""
    problem = source_of(case).problem(case)
    return CaseResult(case, problem, problem.basis(), levels, read_vectors(folder / LEVELS))


def case_folder(case: Case) -> str:
    """The folder of one case of a series."""
    parts = [] if case.hw is None else [f"hw{number_text(case.hw)}"]
    return "_".join([*parts, *([] if case.max_excitation is None else [f"Nmax{case.max_excitation:02d}"])])


def write_results(folder: Path, result: CaseResult) -> None:
    """levels.h5, levels.txt and levels.res."""
    with together():
        write_levels(folder / LEVELS, result.levels, result.vectors_nb)
        for name, text in (
            ("levels.txt", "\n".join(levels_lines(result.levels)) + "\n"),
            ("levels.res", res_text(result.levels)),
        ):
            with replacing(folder / name) as new:
                new.write_text(text, encoding="utf-8")
