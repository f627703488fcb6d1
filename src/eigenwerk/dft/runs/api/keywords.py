"""Keywords of `dft.run`: the honoured tags of INCAR.  Written by tools/make_tags_page.py."""

from collections.abc import Mapping, Sequence
from typing import TypedDict


class Settings(TypedDict, total=False):
    """What each means, its unit and default: docs/formats/incar.md."""

    system: str  # Title of the calculation, copied to the outputs
    istart: int  # Starting orbitals: 0 from atoms, 1 (with the density) from eigenwerk.h5 of an earlier run, or, wit...
    icharg: int  # Starting density: 0 from the orbitals, 1 from CHGCAR (or eigenwerk.h5 of the same run), 2 superpos...
    encut: float  # Kinetic-energy cutoff of the plane waves G + k of the orbitals; eV
    prec: str  # Grids
    ngx: int  # Points of the orbital grid along lattice vector 1
    ngy: int  # Points of the orbital grid along lattice vector 2
    ngz: int  # Points of the orbital grid along lattice vector 3
    ngxf: int  # Points of the density grid along lattice vector 1
    ngyf: int  # Points of the density grid along lattice vector 2
    ngzf: int  # Points of the density grid along lattice vector 3
    lreal: bool | str  # Projectors on the wave grid, in a sphere around each atom (On, .TRUE.): faster for large cel...
    ropt: Sequence[float] | Mapping[str, float]  # Largest error of the projectors in real space, relative to their l...
    lasph: bool  # Non-spherical parts of the one-centre terms
    lmaxmix: int  # Largest l of the one-centre occupancies in CHGCAR, 2 or more
    setups: Mapping[str, str]  # eigenwerk's own tag: variants of the PAW data sets, as pairs Element:variant, for ex...
    nelm: int  # Largest number of self-consistency steps, those of all tries together (VASP: 60)
    nelmin: int  # Smallest number of self-consistency steps, those that an earlier run has done included
    nelmdl: int  # Steps at the start during which the density is kept
    ediff: float  # Self-consistency ends when the free energy changes by less and the density residual allows no lar...
    algo: str  # Solver of the electronic problem: Normal blocked Davidson, VeryFast RMM-DIIS, Fast the first and the...
    ialgo: int  # Solver by number: 38 Normal, 48 VeryFast, 68 Fast, 58 All, 53 Damped, 90 Exact; ALGO wins if both a...
    time: float  # Longest step of damped motion (ALGO = Damped) along the preconditioned residual; 1/hartree
    precision_start: str  # Precision in which the first steps improve the orbitals (not in VASP): Double, or Single,...
    precision_exchange: str  # Precision of the pair densities of exact exchange and of their FFTs (not in VASP): Sin...
    lcorr: bool  # Forces are corrected, to first order, for a density that is not quite self-consistent; .FALSE
    ismear: int  # Occupations: N > 0 Methfessel-Paxton of order N, 0 Gaussian, -1 Fermi-Dirac, -2 fixed (FERWE, FERD...
    sigma: float  # Width of the smearing; none with ISMEAR = -2, -4 and -5; eV
    nbands: int  # Number of bands; never changed by the number of ranks
    nelect: float  # Number of valence electrons; a difference to the sum of valences is a uniform background charge;...
    ferwe: Sequence[float] | Mapping[str, float]  # Occupations for ISMEAR = -2, bands of the first k-point first; fi...
    ferdo: Sequence[float] | Mapping[str, float]  # The same for the second spin channel
    imix: int  # Mixer: 4 Pulay with Kerker preconditioning, 1 Kerker alone
    amix: float  # Factor A of the preconditioner max(A G² / (G² + B²), AMIN) of the density; fitted between 0.4 and ...
    bmix: float  # Kerker wave vector B; 1/Å
    amix_mag: float  # A for the magnetisation density; fitted between AMIX and 1.6 if not given
    bmix_mag: float  # B for the magnetisation density; 1/Å
    amin: float  # Smallest value of the preconditioner
    maxmix: int  # Length of the history (VASP: -45); the sign says whether it survives an ionic step
    ispin: int  # 1 unpolarised, 2 collinear spin
    magmom: Sequence[float] | Mapping[str, float]  # Starting moment of each atom (n*v repeats a value; numbers beyon...
    nupdown: float  # Fixed difference between the numbers of up and down electrons; -1 leaves it free; electrons
    rwigs: Sequence[float] | Mapping[str, float]  # Radii of the spheres of projections (LORBIT), one for each specie...
    ldau: bool  # Switch of the +U correction
    ldautype: int  # Form of the correction: 2, that of Dudarev, in which U - J counts
    ldaul: Sequence[int] | Mapping[str, int]  # Quantum number l of the corrected shell, per species; -1 for none
    ldauu: Sequence[float] | Mapping[str, float]  # U, per species; eV
    ldauj: Sequence[float] | Mapping[str, float]  # J, per species; eV
    gga: str  # LDA or GGA functional: PE (PBE), AM (AM05), B3 (Becke's exchange with LYP and VWN3), B5 (Becke's exch...
    libxc1: str  # With GGA = LIBXC: exchange by libxc's name or number
    libxc2: str  # The same for correlation, which LIBXC1 may name too
    aggax: float  # Fraction of the gradient correction to exchange; with HFSCREEN of its short range
    aldax: float  # Fraction of the local exchange; with HFSCREEN of its short range
    aggac: float  # Fraction of the gradient correction to correlation; of GGA = B3 and B5 that of LYP
    aldac: float  # Fraction of the local correlation
    param1: float  # First number of the exchange of GGA = MK (mu) and BO (beta)
    param2: float  # Second number of the exchange of GGA = MK (kappa) and BO (mu)
    lhfcalc: bool  # Exact exchange: alone PBE0 (with GGA = PE), with HFSCREEN = 0.2 HSE06, with GGA = B3 B3LYP, with...
    aexx: float  # Fraction of exact exchange
    hfscreen: float  # Screening of the exact exchange, whose interaction is erfc(HFSCREEN r)/r: 0.2 HSE06, 0.3 HSE03...
    nkred: int  # Exact exchange on a mesh of q-points with as many times fewer points along each axis
    nkredx: int  # The same along the first axis
    nkredy: int  # The same along the second axis
    nkredz: int  # The same along the third axis
    evenonly: bool  # Exact exchange on q-points whose three numbers on the mesh have an even sum, half of them
    oddonly: bool  # The same with an odd sum; with HFSCREEN only
    core_exchange: str  # Interaction of the exact exchange of valence electrons with the cores (not in VASP): Plain,...
    precfock: str  # Sphere of waves of pair densities, times that of the orbitals: 1 (Low), 1.25 (Fast), 1.5 (Normal...
    nblock_fock: int  # Orbitals that exact exchange is applied to at a time: fewer take less memory; 0, the default,...
    luse_vdw: bool  # Non-local correlation: of vdW-DF, vdW-DF2, optPBE, optB88, optB86b, rev-vdW-DF2 and vdW-DF-cx w...
    zab_vdw: float  # Coefficient of the gradient in Dion's kernel: -0.8491 of vdW-DF, -1.8867 of vdW-DF2 and rev-vdW...
    ivdw_nl: int  # Kernel: 1 Dion's (vdW-DF), 2 that of rVV10
    bparam: float  # b of rVV10: 6.3 with GGA = ML, 10 with PBE (PBE + rVV10L)
    cparam: float  # C of rVV10
    lspin_vdw: bool  # With ISPIN = 2: Dion's kernel of the spin densities in place of that of the total density
    ivdw: int  # Dispersion correction
    lvdw: bool  # Obsolete switch of IVDW = 1
    vdw_s6: float  # Scale of the r⁻⁶ term
    vdw_s8: float  # Scale of the r⁻⁸ term (IVDW = 11, 12, 13)
    vdw_s9: float  # Scale of the three-body term: 0 with IVDW = 11, 12, where VASP takes no other, 1 with 13
    vdw_sr: float  # Scale of the radii of damping (IVDW = 1, 10, 11)
    vdw_a1: float  # Scale of the radii in the damping of Becke and Johnson (IVDW = 12, 13)
    vdw_a2: float  # Length that is added to them (IVDW = 12, 13); bohr
    vdw_d: float  # Steepness of the damping of D2
    vdw_scaling: float  # Old name of VDW_S6, of D2
    vdw_c6: Sequence[float] | Mapping[str, float]  # Coefficient of each species of POSCAR (IVDW = 1, 10); J nm⁶/mol
    vdw_r0: Sequence[float] | Mapping[str, float]  # Radius of each species of POSCAR (IVDW = 1, 10); Å
    vdw_radius: float  # Where pairs of atoms end; Å
    vdw_cnradius: float  # Where the neighbours end that D3 and D4 count; Å
    nsw: int  # Number of ionic steps: most points of a relaxation, all points of a molecular dynamics
    ibrion: int  # How the ions move: -1 not at all, 0 molecular dynamics, 1 relaxation by DIIS, 2 quasi-Newton relax...
    isif: int  # What moves, and whether the stress is computed, which 0 does not
    ediffg: float  # End of a relaxation: change of the free energy (> 0), largest force (< 0; stress of a cell: 0.5 ...
    potim: float  # Time step of dynamics (fs), which needs it; displacement of finite differences (Å); scale of the ...
    nfree: int  # Steps in the memory of IBRION = 1; displacements in each direction of finite differences: 1, 2 or 4
    iwavpr: int  # How orbitals and density are predicted for the next ionic step: 0 not, 1 densities with their atom...
    lattice_constraints: Sequence[bool]  # Cartesian directions that strains of the cell may have to do with, three s...
    pstress: float  # Pressure from outside on a cell that moves; kbar
    pulay_correction: bool  # Not in VASP
    pomass: Sequence[float] | Mapping[str, float]  # Masses of the atoms, one for each species, in dynamics and vibra...
    images: int  # Images of a path between two end points, in folders 00 (the first end point), 01 .
    spring: float  # IMAGES: minus the constant of the springs between images, along the band (nudged); eV/Å²
    lclimb: bool  # IMAGES: the highest image climbs to the saddle point, once forces are below 0.5 eV/Å
    maxmove: float  # IMAGES: the farthest that an atom goes in a step; Å
    iopt: int  # IMAGES: optimiser of the VTST patches in place of IBRION; POTIM then means nothing
    ichain: int  # Method of the VTST patches; 0: a nudged elastic band with IMAGES
    dimer_dist: float  # IBRION = 44: from the middle of the dimer to an end; Å
    findiff: int  # IBRION = 44: forces of one end of the dimer (1), or of both (2)
    minrot: int  # IBRION = 44: rotations of the dimer in each step, at most
    step_size: float  # IBRION = 44: trial step of the dimer; Å
    step_max: float  # IBRION = 44: longest step of the dimer; Å
    smass: float  # With MDALGO = 0: -3 no thermostat, -2 constant velocities, -1 velocities scaled every NBLOCK step...
    mdalgo: int  # Thermostat: 0 by SMASS, 1 Andersen, 2 Nosé-Hoover, 3 Langevin, 4 chain of Nosé-Hoover, 5 velocity ...
    tebeg: float  # Temperature at the start, of the velocities too where POSCAR has none; K
    teend: float  # Temperature at the end; linear in between; K
    andersen_prob: float  # MDALGO = 1: chance of an atom to collide in a step
    langevin_gamma: Sequence[float] | Mapping[str, float]  # MDALGO = 3: friction of the atoms, one for each species;...
    langevin_gamma_l: float  # MDALGO = 3 with ISIF = 3: friction of the lattice; 1/ps
    pmass: float  # MDALGO = 3 with ISIF = 3: mass of the lattice; amu
    nhc_nchains: int  # MDALGO = 4: thermostats in the chain
    nhc_period: float  # MDALGO = 4: period of the chain, in steps
    nhc_nrespa: int  # MDALGO = 4: pieces of a step of the chain
    nhc_ns: int  # MDALGO = 4: pieces of each of these, 1, 3 or 7
    csvr_period: float  # MDALGO = 5: time of velocity rescaling; fs
    random_seed: Sequence[int] | Mapping[str, int]  # Seeds of the random numbers of dynamics, which do not depend on...
    nblock: int  # SMASS = -1: steps from one scaling of velocities to the next
    cell_rescaling: str  # eigenwerk's own tag: a cell that moves by stochastic rescaling, Isotropic or Full (ISIF = ...
    cell_time: float  # CELL_RESCALING: time in which the volume forgets; fs
    bulk_modulus: float  # CELL_RESCALING: an estimate, which decides how fast the volume follows; GPa
    isym: int  # -1 no symmetry, 0 only k = -k, 1 to 3 full symmetry (the three give the same result here)
    symprec: float  # Tolerance of the search for symmetry; below 1E-10, where digits end, it acts as 1E-10; Å
    kspacing: float  # Without KPOINTS file: N_i = max(1, ceil(|b_i| / KSPACING)) points, |b_i| with the factor 2π; 1/Å
    kgamma: bool  # Whether the mesh of KSPACING contains Γ
    lkpoints_opt: bool  # Bands at a second list of k-points (mesh, list or path), in the converged potential of the run
    kspacing_opt: float  # Without KPOINTS_OPT file: the second list is a mesh, as KSPACING makes it; 1/Å
    lwave: bool  # Keep the orbitals in eigenwerk.h5, and write WAVECAR (without this tag only up to 100 MB); without...
    lh5: bool  # No WAVECAR: orbitals are in eigenwerk.h5 alone
    lcharg: bool  # Write the valence density to CHGCAR and CHG at the end
    lorbit: int  # Projections of the orbitals on atoms, in PROCAR, vasprun.xml, DOSCAR, OUTCAR: by l (10), by l and ...
    nedos: int  # Energies of the density of states (vasprun.xml, DOSCAR)
    emin: float  # Lower end of the density of states; with EMIN above EMAX both ends are found from the bands; eV
    emax: float  # Upper end of the density of states; eV
    lvtot: bool  # Write LOCPOT: local potential with exchange-correlation
    lvhar: bool  # Write LOCPOT: ionic and Hartree potential, also with LVTOT
    laechg: bool  # Write AECCAR0, AECCAR1, AECCAR2: all-electron densities
    lelf: bool  # Write ELFCAR: electron localisation function
    lpard: bool  # Write PARCHG: densities of chosen bands, at the end of the run
    nbmod: int  # With LPARD: -2 and -3 take the window EINT as it is and from the Fermi level, 0 all bands
    eint: Sequence[float] | Mapping[str, float]  # With LPARD: window of energies; one number: from there to E_F; eV
    iband: Sequence[int] | Mapping[str, int]  # With LPARD: list of bands
    kpuse: Sequence[int] | Mapping[str, int]  # With LPARD: list of irreducible k-points
    lsepk: bool  # With LPARD: one file per k-point
    lsepb: bool  # With LPARD: one file per band
    idipol: int  # Dipole correction of the energy: axis 1 to 3 of a slab, 4 for a molecule in a cubic box, 0 for none
    ldipol: bool  # With IDIPOL: the potential is corrected as well, with step in the vacuum; forces then belong to it
    dipol: Sequence[float] | Mapping[str, float]  # Centre of the slab or molecule in direct coordinates; the potenti...
    efield: float  # Force of an electric field on an electron along the axis of IDIPOL = 1 to 3, with LDIPOL = .TRUE...
    epsilon: float  # Dielectric constant of what is in a charged cell, for the correction of its energy that is repo...
    kpar: int  # Groups of ranks that share out the k-points; it has to divide the number of ranks
    lusenccl: bool  # Communication by NCCL where every rank has a GPU of its own; .FALSE
