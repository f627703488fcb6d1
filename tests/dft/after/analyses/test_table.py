"""The analyses of a state, and numbers of ionic steps: every quantity has one name and one place in the document."""

from eigenwerk.dft.after.analyses.table import ANALYSES, NOTHING
from eigenwerk.dft.after.levels import BANDS, GAP, SPHERES
from eigenwerk.io.quantity import documents, numbers_of
from eigenwerk.io.vasp.output.record import IonicStep


def test_names_and_places_are_unique():
    given = [quantity for analysis in ANALYSES for quantity in analysis.gives] + [GAP, SPHERES, BANDS]
    assert len({one.name for one in (*given, *numbers_of(IonicStep))}) == len(given) + len(numbers_of(IonicStep))
    keys = [key for one in (*given, *numbers_of(IonicStep)) for key in one.entries]
    assert len(set(keys) - {"spheres"}) == len(keys) - 2  # whose place is among numbers of the ionic step
    assert list(documents(NOTHING.found, 0.0)) == ["vacuum", "dipole_eA", "charged_cell", "core_potentials_eV"]
