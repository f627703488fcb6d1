#!/usr/bin/env bash
# All tests marked gpu, on a machine with GPUs and without network; .device/ comes from prepare.sh.
#   bash benchmarks/device/run_gpu_tests.sh [pytest arguments]
set -uo pipefail
cd "$(dirname "$0")/../.."
export PYTHONPATH=src:.device/site${PYTHONPATH:+:$PYTHONPATH} PYTHONUNBUFFERED=1
exec python3 -m pytest -m gpu -p no:cacheprovider "$@"
