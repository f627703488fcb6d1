"""A run to look at."""

import pytest

from seen_runs import FILES, make_seen


@pytest.fixture(scope="session")
def seen(tmp_path_factory):
    """Its output folder, and its result."""
    folder = tmp_path_factory.mktemp("seen")
    result = make_seen(folder)
    return folder / "out", result


@pytest.fixture(scope="session")
def unconverged(tmp_path_factory):
    """The same of a run that has not converged."""
    folder = tmp_path_factory.mktemp("unconverged")
    result = make_seen(folder, INCAR=FILES["INCAR"] + "NELM = 2\n", KPOINTS_OPT=None)
    return folder / "out", result
