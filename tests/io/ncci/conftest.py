"""Where reference files of nuclear structure codes are."""

import pytest


@pytest.fixture
def ncci_dir(shared_dir):
    return shared_dir / "reference" / "ncci"
