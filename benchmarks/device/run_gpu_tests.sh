#!/usr/bin/env bash
# All tests marked gpu, on a machine with GPUs and without network; .device/ comes from prepare.sh.
#   bash benchmarks/device/run_gpu_tests.sh [pytest arguments]
set -uo pipefail
cd "$(dirname "$0")/../.."
export PYTHONPATH=src:.device/site${PYTHONPATH:+:$PYTHONPATH} PYTHONUNBUFFERED=1
# only files with such tests: others import packages that a machine without network may lack
if [[ " $*" != *" tests/"* ]]; then
  mapfile -t files < <(grep -rl --include='test_*.py' 'mark.gpu' tests)
  set -- "$@" "${files[@]}"
fi
exec python3 -m pytest -m gpu -p no:cacheprovider "$@"
