"""What all tests share: one thread, a fixed seed, and the reference data beside the repository."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Before anything loads a numerical library: one thread, so that sums come out in the same order on every machine,
# and tests that run beside others do not fight for cores. Child processes inherit it.
for _variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_variable] = "1"

# Files of tests lie in memory, where there is room: on a disk each file that a run writes is waited for, 10 ms.
_memory = os.statvfs("/dev/shm") if os.path.isdir("/dev/shm") else None
if _memory and _memory.f_bavail * _memory.f_frsize > 4e9 and not _memory.f_flag & (os.ST_NOEXEC | os.ST_RDONLY):
    os.environ.setdefault("TMPDIR", "/dev/shm")
    tempfile.tempdir = None  # pytest has asked for the folder already

# A shell that starts the tests in the background has its children ignore Ctrl-C, and theirs: nothing would stop them.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup does the same with that of a closed terminal

import pytest

sys.path.append(str(Path(__file__).resolve().parent))  # for helpers that several folders of tests use
from cost import BUDGET, SHARED_BUDGET, Meter, judge, shared
from covering import mark_slow
from quarters import in_quarter, in_turn
from rank_pool import RankPool, why_no_mpi

REPOSITORY = Path(__file__).resolve().parent.parent
SOURCES = str(REPOSITORY / "src")
sys.path.insert(0, SOURCES)  # the tree beside the tests, not an installed copy; for child processes too
LONGEST = (
    "cli/test_ranks", "parallel/test_verbs", "cli/test_run", "cli/test_plot", "dft/runs", "cli/", "parallel/",
    "ncci/solve", "dft/scf", "dft/exchange", "ncci/", "dft/inputs", "dft/", "view/", "perf/",
)  # fmt: skip
"""Files and folders that begin first when several workers share the tests, so that short ones fill the end."""
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [SOURCES, os.environ.get("PYTHONPATH")]))


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the repository."""
    return REPOSITORY


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder `shared` beside the repository, with reference data of other codes; skips where it is absent.

    A test reads from it as `shared_dir / "reference" / "dft" / "si_diamond_pbe.json"`.
    """
    path = REPOSITORY.parent / "shared"
    if not (path / "reference").is_dir():
        pytest.skip(f"no reference data: {path / 'reference'} does not exist")
    return path


@pytest.fixture(scope="session")
def job_folder(repository, tmp_path_factory):
    """`job_folder("hfo2_96")`: the folder of a reference job, made by the script of benchmarks/jobs."""
    into = tmp_path_factory.mktemp("jobs")

    def make(name):
        script = repository / "benchmarks" / "jobs" / "make_jobs.py"
        if (into / name).exists():
            return into / name
        subprocess.run([sys.executable, script, "--only", name, "--into", into], check=True, stdout=subprocess.DEVNULL)
        return into / name

    return make


@pytest.fixture(scope="session")
def ranks():
    """`ranks(4, "gloo").run(function, ...)`: processes that run a function of the test file, on every rank.

    The processes are kept and used again by all tests that ask for as many with the same transport ("gloo" or "mpi").
    Tests that use this are marked `ranks`.
    """
    pools = {}

    def pool(size, transport="gloo"):
        if transport == "mpi" and (reason := why_no_mpi()):
            pytest.skip(f"no MPI: {reason}")
        key = size, transport
        if key in pools and not pools[key].alive:
            pools.pop(key).close()
        if key not in pools:
            with shared():
                pools[key] = RankPool(size, transport)
        return pools[key]

    yield pool
    for last in pools.values():
        last.hang_up()
    for last in pools.values():
        last.close()


def pytest_addoption(parser):
    parser.addoption("--quarter", type=int, help="of the slow tests a quarter, that of this commit, `ci` ones first")
    parser.addoption("--seconds", type=float, help="begin no test that is not marked `ci` after so many seconds")


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(collector, name, obj):
    """Of the cases of a test that is marked `fast`, the others are slow."""
    made = yield
    if isinstance(made, list):
        mark_slow(made)
    return made


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    if (quarter := config.getoption("--quarter")) is not None:
        config.hook.pytest_deselected(items=[item for item in items if not in_quarter(item, quarter)])
        items[:] = in_turn([item for item in items if in_quarter(item, quarter)], quarter)
    skip_without_gpu(items)
    if hasattr(config, "workerinput") and quarter is None:
        share_out(items)


def share_out(items):
    """For workers of pytest-xdist: what takes longest goes first.

    `make` has files stay on one worker (--dist loadfile), for what their tests share.  Groups (loadgroup) would do the
    same, but those of pytest-xdist 3.8 are not seen by pytest 9.
    """
    items.sort(key=lambda item: [item.nodeid.startswith(f"tests/{start}") for start in (*LONGEST, "")].index(True))


BEGUN = time.monotonic()


def skip_beyond_the_time(item):
    limit = item.config.getoption("--seconds")
    if limit is not None and time.monotonic() - BEGUN > limit and not item.get_closest_marker("ci"):
        pytest.skip(f"not begun within {limit:g} seconds")


def skip_without_gpu(items):
    """Skips tests marked `gpu` where there is no GPU; torch is loaded only when there are such tests."""
    gpu_items = [item for item in items if item.get_closest_marker("gpu")]
    if not gpu_items:
        return
    import torch

    if not torch.cuda.is_available():
        for item in gpu_items:
            item.add_marker(pytest.mark.skip(reason="no GPU that PyTorch can use"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    skip_beyond_the_time(item)
    return (yield from within_budget(item, SHARED_BUDGET, "what it shares with others"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    return (yield from within_budget(item, BUDGET, "itself"))


def within_budget(item, budget, what):
    """Around a part of a test: what it costs, if that is above its budget; a failure if it is far above.

    Never a failure on ranks: MPI counts what it waits for, and that is as long as others leave it no core.
    """
    meter = Meter()
    result = yield
    if not any(item.get_closest_marker(mark) for mark in ("slow", "gpu")):
        cost, fault = judge(meter.read(), budget)
        if cost > budget:
            item.user_properties.append(("above budget", f"{cost:.1f} s for {what}"))
        if fault and not item.get_closest_marker("ranks"):
            pytest.fail(fault, pytrace=False)
    return result


def pytest_terminal_summary(terminalreporter):
    """The tests above their budgets."""
    reports = [report for key in ("passed", "failed") for report in terminalreporter.stats.get(key, ())]
    dear = {
        (report.nodeid, words) for report in reports
        for name, words in getattr(report, "user_properties", ()) if name == "above budget"
    }  # fmt: skip
    if dear:
        terminalreporter.section(f"above {BUDGET:g} s of a processor: make these smaller or slow (tests/cost.py)")
        for nodeid, words in sorted(dear):
            terminalreporter.line(f"{words}: {nodeid}")
