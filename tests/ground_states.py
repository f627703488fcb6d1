"""Small ground states that every layout and device must give alike, and how alike that is."""

import numpy as np

from eigenwerk.dft.settings.projection import SphereProjection

CASES = {
    # name: crystal of tests/dft/conftest.py, settings; EDIFF = 1e-8 eV
    "insulator": ("si_bent", {"mesh": (2, 2, 2), "real": True}),
    "metal": ("al_pair", {"mesh": (2, 2, 1), "ismear": 1, "sigma_eV": 0.2}),
    "tetrahedra": ("al_pair", {"mesh": (2, 2, 2), "ismear": -5}),
    "magnet": (
        "fe_bent",
        {"mesh": (2, 1, 1), "spins": 2, "cutoff_eV": 200.0, "ismear": 1, "sigma_eV": 0.2,
         "projection": SphereProjection({"Fe": 2.0})},
    ),
    "Gamma": ("lih_bent", {"mesh": (1, 1, 1), "cutoff_eV": 250.0, "real": True}),
    "layers": ("al_layers", {"mesh": (2, 2, 1), "cutoff_eV": 100.0, "ismear": 1, "sigma_eV": 0.2}),
    "inversion": (
        "pairs",
        {"mesh": (3, 1, 1), "symmetry_level": 2, "real": True,
         "projection": SphereProjection({"C": 1.2, "Be": 1.5, "O": 1.3}, phases=True)},
    ),
}

ENERGY_PER_ATOM, FORCE, MOMENT, STRESS, WEIGHT = 1e-8 / 27.2, 1e-6 / 51.4, 1e-6, 1e-5 / 29421, 1e-5
"""What may change: 1e-8 eV per atom, 1e-6 eV/Å, 1e-5 GPa, in hartree and bohr; Bohr magnetons; 1e-5 of an orbital."""


def pieces(calculation):
    """What a calculation is made of, without what it has built; it can be sent to other processes."""
    return calculation.structure, calculation.kpoints, calculation.parameters, calculation.datasets, calculation.real


def answer(ground):
    """What is compared of a ground state, as plain values."""
    state, projections = ground.state, ground.projections
    weight_sknaL = None if projections is None else projections.weight_sknaL  # None but in the first k-group
    return {
        "free": state.energies.free, "eig_skn": state.eig_skn.cpu().numpy(), "steps": len(state.history),
        "forces_av": ground.forces_av, "correction_av": ground.correction_av, "force_error": ground.force_error,
        "stress_vv": ground.stress_vv, "moment_a": ground.moment_a, "converged": state.converged,
        "occupied_saL": None if projections is None else projections.occupied_saL.numpy(),
        "weight_sknaL": None if weight_sknaL is None else weight_sknaL.numpy(),
    }  # fmt: skip


def assert_same(found, wanted, atoms):
    """Both converged, and equal within the limits; the two highest bands are not waited for and may differ."""
    assert found["converged"] and wanted["converged"]
    assert abs(found["free"] - wanted["free"]) < ENERGY_PER_ATOM * atoms
    np.testing.assert_allclose(found["forces_av"], wanted["forces_av"], atol=FORCE)
    np.testing.assert_allclose(found["stress_vv"], wanted["stress_vv"], atol=STRESS)
    np.testing.assert_allclose(found["moment_a"], wanted["moment_a"], atol=MOMENT)
    assert np.abs(found["eig_skn"] - wanted["eig_skn"])[..., :-2].max() < ENERGY_PER_ATOM * max(atoms, 4)
    if wanted["occupied_saL"] is not None:
        np.testing.assert_allclose(found["occupied_saL"], wanted["occupied_saL"], atol=WEIGHT)
    if found["weight_sknaL"] is not None:
        weights = (x["weight_sknaL"][:, :, :-2] for x in (found, wanted))
        np.testing.assert_allclose(*weights, atol=10 * WEIGHT)
