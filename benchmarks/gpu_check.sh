#!/bin/sh
# Does training work on this GPU, and how fast? At most five minutes; prints a table and JSON.
#
#     benchmarks/gpu_check.sh --pack           where there is a network: fetches what the check carries
#     benchmarks/gpu_check.sh [--json FILE]    on the machine with the GPU
#     benchmarks/gpu_check.sh --dry-run        the same steps, small, on the CPU
#
# The machine needs Python 3.11 or newer with torch, numpy, numba and tensorboard (PYTHON=... names another python3).
# Everything else that the project imports is carried along, in build/gpu_check: packages of plain Python, and small
# compiled ones for Linux on x86-64. LIMIT=... sets another limit than 300 seconds.
set -eu
cd "$(dirname "$0")/.."
PYTHON="${PYTHON:-python3}"

if [ "${1:-}" = --pack ]; then
  exec "$PYTHON" benchmarks/gpu_packages.py pack
fi

CARRIED="$(mktemp -d)"
trap 'rm -rf "$CARRIED"' EXIT
"$PYTHON" benchmarks/gpu_packages.py unpack "$CARRIED"
PYTHONPATH="$PWD:$CARRIED" OMP_WAIT_POLICY=PASSIVE timeout -k 10 "${LIMIT:-300}" \
  "$PYTHON" benchmarks/gpu_check.py --limit "${LIMIT:-300}" "$@" || {
  status=$?
  [ $status -ne 124 ] || echo "Ended after ${LIMIT:-300} seconds, before everything was checked." >&2
  exit $status
}
