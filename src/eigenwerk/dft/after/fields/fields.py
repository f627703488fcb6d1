"""Which fields the files of a run hold, made of its last state."""

import numpy as np

from eigenwerk.dft.after.analysis import AfterScene
from eigenwerk.dft.after.fields.all_electron import core_density, proto_valence_density, valence_density
from eigenwerk.dft.after.fields.charge import charge_blocks, data_sets_of
from eigenwerk.dft.after.fields.localisation import localisation_blocks
from eigenwerk.dft.after.fields.partial_charge import partial_charges
from eigenwerk.dft.after.fields.potential import electrostatic_blocks, total_blocks
from eigenwerk.dft.inputs.steps.field_files import band_selection, wanted_fields
from eigenwerk.io.vasp.volumetric import GridBlock, Volumetric


def fields_of(scene: AfterScene) -> dict[str, Volumetric]:
    """The fields of all files that INCAR asks for, by name, in the units of the files.  All ranks call it together."""
    calculation, state, inputs = scene.calculation, scene.state, scene.inputs
    wanted = wanted_fields(inputs.incar)
    selection = band_selection(inputs.incar, calculation.parameters.bands, len(inputs.kpoints.point_kc))
    if not wanted and selection is None:
        return {}
    found: dict[str, Volumetric] = {}
    with calculation.runtime.trace.span("fields"):
        if "CHGCAR" in wanted:
            largest = inputs.setting("LMAXMIX")
            assert isinstance(largest, int)
            # what a run with ICHARG = 1 starts from, of eigenwerk.h5 as well
            blocks = charge_blocks(state.following, calculation.atoms, largest)
            found["CHGCAR"] = Volumetric(blocks, data_sets_of(calculation.datasets, calculation.structure))
            found["CHG"] = _plain(*(block.value_R for block in blocks))
        if "LOCPOT" in wanted:
            make = electrostatic_blocks if inputs.incar.get("LVHAR") else total_blocks
            found["LOCPOT"] = _plain(*make(scene.potential, scene.dipole))
        if "AECCAR0" in wanted:
            found["AECCAR0"] = _plain(core_density(calculation.atoms))
            found["AECCAR1"] = _plain(proto_valence_density(calculation.atoms))
            valence = state.density if inputs.fixed_density else state.output
            found["AECCAR2"] = _plain(valence_density(valence, calculation.atoms))
        if "ELFCAR" in wanted:
            found["ELFCAR"] = _plain(*localisation_blocks(state, calculation.symmetrise))
        if selection is not None:
            found |= partial_charges(state, calculation.atoms, calculation.symmetrise, selection)
    return found


def _plain(*values: np.ndarray) -> Volumetric:
    """Fields without occupancies."""
    return Volumetric(tuple(GridBlock(value_R) for value_R in values), {})
