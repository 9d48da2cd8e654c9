#!/usr/bin/env bash
# The table of benchmarks/results for the NVIDIA card of this machine: attention and packing of this package, and fp16 attention of
# torch beside them where torch is installed. Needs the driver, Node and `pnpm install`; takes about ten minutes and up to 60 GB of
# the card's memory. Results go to standard output, with clocks and power before and after.
set -euo pipefail
cd "$(dirname "$0")/.."
state() { nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,power.draw,temperature.gpu --format=csv,noheader; }
state
pnpm --silent bench-cuda --sustained "$@"
state
pnpm --silent bench-cuda-append
pnpm --silent bench-cuda-step
pnpm --silent launch-cost
if python3 -c 'import torch' 2>/dev/null; then python3 benchmarks/cuda-rivals.py; else echo 'torch is not installed: no rivals'; fi
state
