"""Whether the CHGCAR that a run is to begin from fits it, judged before anything is computed (no torch here)."""

from collections.abc import Mapping

from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.dataset import DataSet
from eigenwerk.dft.fitting_files import require_fitting, require_lmaxmix, without_occupancies
from eigenwerk.dft.inputs.findings import Findings
from eigenwerk.dft.inputs.restart import CHARGE_FILE, Restart
from eigenwerk.io.vasp.volumetric import occupancy_counts, read_head


def check_charge_file(
    restart: Restart, structure: Structure, fine: tuple[int, int, int], datasets: Mapping[str, DataSet],
    findings: Findings,
) -> None:  # fmt: skip
    """Raise InputError for a file that a run would refuse; a note on one without augmentation occupancies.

    fine: points of the density grid.  The values themselves are not read: `check` is quick.
    """
    assert restart.file is not None
    counts, checksums = occupancy_counts(restart.file), {s: data.header.md5 for s, data in datasets.items()}
    require_fitting(read_head(restart.file), structure, fine, checksums if counts else {})
    if counts:
        channels = {symbol: [state.l for state in data.header.states] for symbol, data in datasets.items()}
        require_lmaxmix(CHARGE_FILE, channels, structure.symbols, counts)
    else:
        findings.note(CHARGE_FILE, without_occupancies(CHARGE_FILE, restart.fixed).removeprefix(f"{CHARGE_FILE} "))
