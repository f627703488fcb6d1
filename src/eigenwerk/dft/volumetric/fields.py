"""Which fields the files of a run hold, made of its last state."""

from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.inputs.field_files import wanted_fields
from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.scf.state import State
from eigenwerk.dft.volumetric.charge import charge_blocks, data_sets_of
from eigenwerk.io.vasp.volumetric import GridBlock, Volumetric


def fields_of(calculation: Calculation, state: State, inputs: Inputs) -> dict[str, Volumetric]:
    """The fields of all files that INCAR asks for, by name, in the units of the files.  All ranks call it together."""
    wanted = wanted_fields(inputs.incar)
    if not wanted:
        return {}
    found: dict[str, Volumetric] = {}
    with calculation.runtime.trace.span("fields"):
        if "CHGCAR" in wanted:
            largest = inputs.setting("LMAXMIX")
            assert isinstance(largest, int)
            # what a run with ICHARG = 1 starts from, of eigenwerk.h5 as well
            blocks = charge_blocks(state.following, calculation.atoms, largest)
            found["CHGCAR"] = Volumetric(blocks, data_sets_of(calculation.datasets, calculation.structure))
            found["CHG"] = Volumetric(tuple(GridBlock(block.value_R) for block in blocks), {})
    return found
