"""INCAR tags of calculations that eigenwerk does not do, known by name: settings, and the switches that ask for one.

Names: VASP wiki (category INCAR tag, 2026), and what pymatgen and atomate2 write.
"""

from eigenwerk.io.vasp.tags.base import Tag, switches

SECTION = "Further tags of VASP, known by name"

MANY_BODY = "many-body methods"
NMR = "chemical shifts and other response to magnetic fields"
WANNIER = "the interface to Wannier90"


def _settings(subject: str, names: str) -> tuple[Tag, ...]:
    """Settings that act only in calculations of one kind, which do not exist here; their values are not looked at."""
    note = f"it acts only in calculations that are not available ({subject})"
    return tuple(
        Tag(name, "str", None, "", SECTION, "inert", f"A setting of {subject}.", note) for name in names.split()
    )


def _plain(note: str, names: str) -> tuple[Tag, ...]:
    """Settings of the way in which VASP computes; results here do not depend on them."""
    return tuple(Tag(name, "str", None, "", SECTION, "inert", f"{note[0].upper()}{note[1:]}.", note)
                 for name in names.split())  # fmt: skip


SETTINGS = (
    *_settings(
        MANY_BODY,
        "ANTIRES DIRECT ENCUT4O ENCUTLF ESF_CONV ESF_SPLINES ESTOP EVENONLYGW HFSCREENC IBSE KPOINT_BSE LADDER "
        "LDMATRIX LESF_SPLINES LFERMIGW LFOCKAEDFT LFXC LFXCEPS LFXHEG LGAUGE LHARTREE LHOLE LMAXMP2 LMP2LT LNLRPA "
        "LORBITALREAL LRSCOR LSCAAWARE LSELFENERGY LSINGLES LSMP2LT LSPECTRALGW LTCTE LTETE LTRIPLET LUSEW LWEIGHTED "
        "NATURALO NBANDSLF NBANDSO NBANDSV NBANDS_WAVE NBSEEIG NCRPA_BANDS NELMALL NMAXALT NOMEGAR NOMEGA_DUMP NSTORB "
        "NTARGET_STATES ODDONLYGW OMEGAGRID OMEGAMAX OMEGAMIN OMEGATL SCISSOR SCSRAD SELFENERGY SHIFTRED WFULL",
    ),
    *_settings(
        NMR,
        "DARWINR DARWINV DQ ICHIBARE LBONE LLRAUG LMAGBLOCH LNICSALL LNMR_SYM_RED LSYMGRAD LVGVAPPL LVGVCALC LZEROZ "
        "MAGATOM MAGDIPOL MAGDIPOLOUT MAGPOS NGYROMAG NUCIND",
    ),
    *_settings("polarisation and response to electric fields", "IEPSILON IGPAR IPEAD NPPSTR"),
    *_settings("core levels", "CH_AMPLIFICATION CH_LSPEC CH_NEDOS CH_SIGMA CLL CLN CLNT CLZ"),
    *_settings(
        "molecular dynamics, its constraints and exchanges, and reaction paths",
        "EFOR FMP_ACTIVE FMP_DIRECTION FMP_PERIOD FMP_SNUM FMP_SWAPNUM HILLS_BIN HILLS_H HILLS_W "
        "HITOLER LBFCONST LVEL NCORE_IN_IMAGE1 NSUBSYS NTEMPER PLEVEL PROUTINE PSUBSYS PTHRESHOLD "
        "RANDOM_GENERATOR SHAKEMAXITER SHAKETOL SHAKETOLSOFT TSUBSYS VALUE_MAX VALUE_MIN "
        "VCAIMAGES",
    ),
    *_settings("phonons", "LPHON_POLAR LPHON_READ_FORCE_CONSTANTS PFLAT"),
    *_settings(WANNIER, "LDISENTANGLED LLOCPROJ LSCDM LWRITE_MMN_AMN LWRITE_SPN LWRITE_UNK LWRITE_WANPROJ"),
    *_settings(
        "hybrid and meta-GGA functionals, and combinations of functionals",
        "ALPHA_VDW AMGGAC AMGGAX CMBJA CMBJB CMBJE HFALPHA HFLMAX LHFONE LTBOUNDLIBXC MCALPHA PARAM3 QMAXFOCKAE "
        "VCUTOFF XC_C",
    ),
    *_settings(
        "many-body and other dispersion corrections",
        "LSCSGRAD LVDWEXPANSION LVDW_EWALD LVDW_ONECELL VDW_C6AU VDW_IDAMPF VDW_MBD_BETA VDW_R0AU",
    ),
    *_settings("projections and spectra", "EFERMI_NEDOS KPOINTS_OPT_NKBATCH LINTPOL_WPOT LSFACTOR STM"),
    *_settings("embedding", "DMFT_BASIS"),
)

OTHERS = (
    *_plain("projectors are exact in reciprocal space, without an interpolation that could be chosen", "NLSPLINE"),
    *_plain("FFTs, solvers and memory are planned by eigenwerk", "DIAG FFTWMAKEPLAN LDOWNSAMPLE LINTERFAST KINTER LSCK "
            "NCSHMEM NDAV TELESCOPE"),
    *_plain("the State is always saved in eigenwerk.h5", "LWAVEH5"),
    *_plain("valences and positions are those of the data sets and POSCAR", "ISPECIAL ZVAL"),
    *_plain("a run ends as the guide of runs says", "STOP_ON"),
)  # fmt: skip

ASKED_FOR = (
    *switches(SECTION, f"{NMR} are not available", ("ORBITALMAG", "Orbital magnetism.")),
    *switches(SECTION, "projections on other cells are not available", ("LKPROJ", "Bands projected on k-points.")),
    *switches(SECTION, "phonon dispersions are not available", ("LPHON_DISPERSION", "Phonon dispersion along a path."),
              remedy="Remove the line. IBRION = 5 or 6 gives vibrations of a cell, phonopy dispersions."),
    *switches(SECTION, "parallel tempering is not available", ("LTEMPER", "Parallel tempering.")),
    *switches(SECTION, f"{WANNIER} is not available", ("LWANNIER90_RUN", "Wannier90 run from within.")),
    *switches(SECTION, f"{MANY_BODY} are not available", ("EXXOEP", "Optimised effective potentials.")),
    *switches(SECTION, "surfaces with a Tkatchenko-Scheffler correction are not available",
              ("LTSSURF", "Dispersion at surfaces.")),
    Tag("VCA", "floats", None, "", SECTION, "refused", "Weights of a virtual crystal, per species.",
        "virtual crystals are not available", "Remove the line, or write 1 for each species.",
        off_values=tuple((1.0,) * count for count in range(1, 21))),
    *(Tag(name, "floats", None, unit, SECTION, "refused", f"{text}.", f"{text.lower()}s are not available",
          f"Remove the line, or set {name} = 0.", off_values=((0.0,), (0.0, 0.0, 0.0)))
      for name, unit, text in (("BEXT", "eV", "External magnetic field"), ("EFIELD_PEAD", "eV/Å", "Electric field"))),
)  # fmt: skip

TAGS: tuple[Tag, ...] = SETTINGS + OTHERS + ASKED_FOR
