"""What OUTCAR says of a finished arrangement of the ions: levels, charges, stress, forces, energies."""

from collections.abc import Iterator

import numpy as np

from eigenwerk.io.vasp.output.outcar.header import RULE
from eigenwerk.io.vasp.output.potentials import ChargedCell, CorePotentials
from eigenwerk.io.vasp.output.record import IonicStep, RunRecord
from eigenwerk.units import AMU_EV_FS2_PER_ANGSTROM2

_EV_PER_KILOBAR = 1 / 1602.176634
"""kB times cubic Angstrom in eV."""

_TERMS = ("Alpha Z", "Ewald", "Hartree", "E(xc)", "Local", "n-local", "augment", "Kinetic", "Fock")
"""Rows of VASP's table of the stress, for which readers count lines (dpdata looks for "in kB" from the 14th on)."""

_PLACES = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))
"""Components of a stress in VASP's order."""


def _core_potentials(core: CorePotentials) -> Iterator[str]:
    """Five atoms in a line of fixed columns; readers take all lines up to that of the Fermi level."""
    yield "\n average (electrostatic) potential at core\n"
    yield "  the test charge radii are " + "".join(f"{radius:10.4f}" for radius in core.radius.values()) + "\n"
    yield "  (the norm of the test charge is              1.0000)\n"
    for first in range(0, len(core.value_a), 5):
        pairs = enumerate(core.value_a[first : first + 5], first + 1)
        yield "".join(f"{atom:8d}{value:9.4f}" for atom, value in pairs) + "\n"


def _charged(cell: ChargedCell) -> Iterator[str]:
    """In words of its own: those of VASP mean corrections that TOTEN holds."""
    yield f"\n charged cell, corrections that are NOT in TOTEN: charge {cell.charge:12.6f} e\n"
    yield f"  Madelung constant {cell.madelung:10.6f} for the length {cell.length:10.6f} Angstrom\n"
    parts = (("point charge in the background", cell.background), ("Makov-Payne, first order", cell.monopole),
             ("Makov-Payne, second order", cell.quadrupole), ("potential alignment", cell.alignment))  # fmt: skip
    yield from (f"  {name:<32}{value:14.6f} eV\n" for name, value in parts if value is not None)


def eigenvalues(record: RunRecord) -> Iterator[str]:
    """Fermi level and bands; occupations without spin polarisation count both spins, as in VASP's file.

    The upper side of a slab has that part of the vacuum in front of it where the coordinate is smaller.
    """
    final = record.final
    vacuum, charged, core = (final.values.get(name) for name in ("vacuum", "charged", "core_potentials"))
    if vacuum is not None:
        levels = vacuum.below, vacuum.above
        yield "\n vacuum level on the upper side and lower side of the slab {:14.6f} {:14.6f}\n".format(*levels)
    if charged is not None:
        yield from _charged(charged)
    if core is not None:
        yield from _core_potentials(core)
    yield f"\n E-fermi : {final.fermi_level:15.8f}\n"
    if final.separate_levels:
        yield "  of both spins, no level separates both : {:15.8f} {:15.8f}\n".format(*final.separate_levels)
    yield "\n"
    polarised = len(final.eig_skn) == 2
    for s, (eig_kn, occ_kn) in enumerate(zip(final.eig_skn, final.occ_skn, strict=True), start=1):
        yield f"\n spin component {s}\n" if polarised else ""
        for k, (eig_n, occ_n) in enumerate(zip(eig_kn, occ_kn, strict=True), start=1):
            yield "\n k-point {:5d} :   {:10.4f}{:10.4f}{:10.4f}\n".format(k, *record.kpoint_kc[k - 1])
            yield "  band No.  band energies     occupation \n"
            rows = np.column_stack([np.arange(1, len(eig_n) + 1), eig_n, occ_n * (1 if polarised else 2)])
            yield "%7d %15.8f %12.6f\n" * len(rows) % tuple(rows.ravel().tolist())
    yield f"\n\n{'-' * 104}\n"


def charges(ionic: IonicStep, angular_momenta: int) -> Iterator[str]:
    """Charges and moments in the spheres of the atoms by angular momentum, if projections were asked for.

    angular_momenta: how many of them, columns that VASP's readers expect.  Readers know the end of a table by its sum,
    which a single atom does not get.
    """
    if ionic.charge_xal is None:
        return
    for title, charge_al in zip((" total charge     ", " magnetization (x)"), ionic.charge_xal, strict=False):
        charge_al = charge_al[:, :angular_momenta]
        atoms, count = charge_al.shape
        yield f"\n\n{title}\n \n# of ion" + "".join(f"{name:>11}" for name in (*"spdfg"[:count], "tot")) + "\n"
        rows = np.column_stack([np.arange(1, atoms + 1), charge_al, charge_al.sum(axis=1)])
        line = f"{'-' * (11 * count + 20)}\n"
        yield line + ("%5d   " + " %10.6f" * (count + 1) + "\n") * atoms % tuple(rows.ravel().tolist())
        if atoms > 1:
            yield line + "tot     " + "".join(f" {value:10.6f}" for value in rows[:, 1:].sum(axis=0)) + "\n"
        yield " \n"


def stress(record: RunRecord, ionic: IonicStep) -> str:
    """Stress as VASP prints it: positive where the cell wants to expand; XX YY ZZ XY YZ ZX."""
    assert ionic.stress_vv is not None
    kilobar_x = np.array([ionic.stress_vv[p] for p in _PLACES])
    volume = abs(np.linalg.det(ionic.lattice_cv))
    pressure = float(np.trace(ionic.stress_vv)) / 3
    outside = float(record.parameters.get("PSTRESS") or 0.0)
    rule = f"  {'-' * 86}\n"
    text = "\n  FORCE on cell =-STRESS in cart. coord.  units (eV):\n"
    text += f"  Direction    XX          YY          ZZ          XY          YZ          ZX\n{rule}"
    text += "".join(f"  {name:<8}" + f"{'n/a':>14}" * 6 + "\n" for name in _TERMS) + f"  {'-' * 85}\n"
    text += "  Total " + "".join(f" {value * volume * _EV_PER_KILOBAR:14.5f}" for value in kilobar_x)
    text += "\n  in kB " + "".join(f" {value:14.5f}" for value in kilobar_x)
    text += f"\n  external pressure = {pressure - outside:14.4f} kB  Pullay stress = {outside:11.2f} kB\n"
    if ionic.kinetic is None or ionic.velocities_av is None:
        return text
    gas_x = _gas(record, ionic) / volume
    gas = float(gas_x[:3].sum()) / 3
    text += f"\n  kinetic pressure (ideal gas correction) = {gas:14.4f} kB\n"
    text += f"  total pressure  = {pressure - outside + gas:14.4f} kB\n"
    return text + "  Total+kin. " + "".join(f" {value:14.5f}" for value in kilobar_x + gas_x) + "\n"


def _gas(record: RunRecord, ionic: IonicStep) -> np.ndarray:
    """Σ m v v of the atoms, kB times cubic Angstrom, in the order of the stress."""
    assert ionic.velocities_av is not None
    mass_a = np.repeat([species.mass for species in record.species], [species.count for species in record.species])
    tensor_vv = np.einsum("a,av,aw->vw", mass_a, ionic.velocities_av, ionic.velocities_av)
    return np.array([tensor_vv[p] for p in _PLACES]) * AMU_EV_FS2_PER_ANGSTROM2 / _EV_PER_KILOBAR


def dynamics(ionic: IonicStep) -> str:
    """What is conserved, and its parts."""
    rows = (
        ("  kinetic energy EKIN   =", ionic.kinetic, ""),
        ("  kin. lattice  EKIN_LAT=", ionic.lattice_kinetic, f"  (temperature {ionic.temperature or 0.0:7.2f} K)"),
        ("  nose potential ES     =", ionic.thermostat, ""),
        ("  nose kinetic   EPS    =", ionic.thermostat_kinetic, ""),
    )
    text = f"  ENERGY OF THE ELECTRON-ION-THERMOSTAT SYSTEM (eV)\n  {'-' * 51}\n"
    text += f"% ion-electron   TOTEN  = {ionic.free_energy:18.8f}  see above\n"
    text += "".join(f"{name} {energy or 0.0:18.8f}{rest}\n" for name, energy, rest in rows)
    return text + f"  {'-' * 51}\n  total energy   ETOTAL = {ionic.total:18.8f} eV\n\n"


def forces(lattice_cv: np.ndarray, scaled_ac: np.ndarray, forces_av: np.ndarray) -> str:
    """Positions (Angstrom) and forces (eV/Angstrom), and what is left of the forces in sum."""
    rows = np.column_stack([scaled_ac @ lattice_cv, forces_av])
    rule = f" {'-' * 83}\n"
    text = f"\n\n POSITION                                       TOTAL-FORCE (eV/Angst)\n{rule}"
    text += (" %14.8f" * 3 + "   " + " %14.8f" * 3 + "\n") * len(rows) % tuple(rows.ravel().tolist())
    drift = "".join(f" {value:14.8f}" for value in forces_av.sum(axis=0))
    return text + f"{rule}    total drift:                                 {drift}\n"


def path_forces(ionic: IonicStep) -> str:
    """Forces of an image of a path, in the words of the VTST patches, for which pymatgen and scripts look."""
    if ionic.tangent_force is None or ionic.forces_av is None:
        return ""
    size_a = np.linalg.norm(ionic.forces_av, axis=1)
    largest = float(size_a.max()) if ionic.largest_force is None else ionic.largest_force
    both = f"{ionic.spring_force or 0.0:14.6f} {ionic.tangent_force:14.6f}"
    text = f"  NEB: projections on to tangent (spring, REAL) {both}"
    return f"{text}\n  largest force on an atom of the band (eV/Angst) {largest:14.6f}\n"


def dispersion(ionic: IonicStep) -> str:
    """The dispersion correction in VASP's words; all energies of the file contain it."""
    return "" if ionic.dispersion is None else f"\n  Edisp (eV)  {ionic.dispersion:11.5f}\n\n"


def non_local(ionic: IonicStep) -> str:
    """Non-local correlation of the smooth density; that of the atoms is taken off in the energies of the file."""
    return "" if ionic.non_local is None else f"\n  Ec_nl (eV)  {ionic.non_local:13.5f}\n\n"


def energies(ionic: IonicStep) -> str:
    """The energies of an ionic step; ASE takes the third and the fifth line of this block."""
    text = f"\n\n{'-' * 104}\n\n\n\n  FREE ENERGIE OF THE ION-ELECTRON SYSTEM (eV)\n  {'-' * 51}\n"
    text += f"  free  energy   TOTEN  = {ionic.free_energy:18.8f} eV\n\n"
    text += f"  energy  without entropy={ionic.energy_without_entropy:18.8f}"
    return text + f"  energy(sigma->0) = {ionic.energy_zero:18.8f}\n{RULE}"
