"""From a result to what files of VASP's kind hold."""

from eigenwerk.io.vasp.output.xml.vibrations import ElasticRecord, VibrationRecord
from eigenwerk.motion.vibrations.vibrations import Vibrations

KILOBAR = 10
"""Of one GPa."""


def vibration_record(mover: Vibrations) -> VibrationRecord | None:
    """For `RunRecord.vibrations`; None as long as there is no result."""
    result = mover.result
    if result is None:
        return None
    constants, modes, tensor = result.constants, result.modes, result.elastic
    elastic = None
    if tensor is not None:
        elastic = ElasticRecord(
            KILOBAR * tensor.measured_jj,
            KILOBAR * tensor.clamped_jj,
            KILOBAR * tensor.ionic_jj,
            KILOBAR * tensor.total_jj,
            tensor.internal_strain_avj,
        )
    return VibrationRecord(
        mover.settings.displacement,
        constants.free_av,
        constants.matrix_xx,
        constants.measured_xx,
        mover.masses_a,
        modes.square_n,
        modes.thz_n,
        modes.vector_nav,
        elastic,
    )
