#!/usr/bin/env bash
# Slurm job array: one shard per task. Submit it, then merge.sh; README.md beside this folder says how.
#SBATCH --job-name=lowbit-kv
#SBATCH --array=1-8
#SBATCH --cpus-per-task=8
#SBATCH --mem=32G
#SBATCH --time=08:00:00
#SBATCH --requeue
#SBATCH --output=%x-%A_%a.log
set -euo pipefail

# --- change these -----------------------------------------------------------------------------------------------------
# As many as tasks in --array above. Not the size of the array at hand: `sbatch --array=3` runs shard 3 of these again.
SHARDS="${SHARDS:-8}"
MODEL="${MODEL:-$PWD/SmolLM2-135M-Instruct}"
TEXT="${TEXT:-$PWD/wiki.txt}"
# Options of `lowbit-kv eval`, the same for every shard.
OPTIONS="${OPTIONS:---all --windows 16}"
# A folder that all nodes see.
OUT="${OUT:-$PWD/shards}"
# Finished parts: a task that is requeued, maybe on another node, goes on from there.
export XDG_CACHE_HOME="${XDG_CACHE_HOME:-$PWD/cache}"
LOWBIT_KV="${LOWBIT_KV:-npx --no-install lowbit-kv}"
# ----------------------------------------------------------------------------------------------------------------------

task="${SLURM_ARRAY_TASK_ID:?is not set: submit this with sbatch, as a job array}"
threads="${SLURM_CPUS_PER_TASK:-1}"

# shellcheck disable=SC2086 # Words of these two are options.
exec $LOWBIT_KV eval --model "$MODEL" --text "$TEXT" $OPTIONS --threads "$threads" \
  --shard "$task/$SHARDS" --out "$OUT"
