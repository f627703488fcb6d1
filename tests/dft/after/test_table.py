"""The analyses of a state: every quantity has one name and one place in the document."""


import numpy as np

from eigenwerk.dft.after.quantities import GROUND, OF_IONIC_STEPS, ground_values
from eigenwerk.dft.after.table import ANALYSES, NOTHING
from eigenwerk.io.vasp.output.record import IonicStep
from eigenwerk.units import FORCE_EV_PER_ANGSTROM, STRESS_KILOBAR


def test_names_and_places_are_unique():
    given = [quantity for analysis in ANALYSES for quantity in analysis.gives]
    assert len({one.name for one in (*given, *GROUND)}) == len(given) + len(GROUND)
    assert list(NOTHING.documents(0.0)) == ["vacuum", "dipole_eA", "charged_cell", "core_potentials_eV"]
    assert {one.name for one in OF_IONIC_STEPS} <= set(IonicStep.__dataclass_fields__)


def test_a_ground_state_is_told_in_the_units_of_files():
    """Stress of files has the other sign."""
    found = ground_values({"forces_av": np.full((2, 3), 0.1), "stress_vv": np.eye(3), "more": 1}).in_files()
    np.testing.assert_allclose(found["forces_av"], 0.1 * FORCE_EV_PER_ANGSTROM, rtol=1e-15)
    np.testing.assert_allclose(found["stress_vv"], -STRESS_KILOBAR * np.eye(3), rtol=1e-15)
    assert found["pulay"] is None and "more" not in found
