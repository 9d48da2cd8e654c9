#!/usr/bin/env bash
# Puts the shards of shards.sh together: reads files, measures nothing.
#SBATCH --job-name=lowbit-kv-merge
#SBATCH --cpus-per-task=1
#SBATCH --mem=8G
#SBATCH --time=00:15:00
#SBATCH --output=%x-%j.log
set -euo pipefail

# --- change these, as in shards.sh ------------------------------------------------------------------------------------
OUT="${OUT:-$PWD/shards}"
REPORT="${REPORT:-$PWD/report}"
# Such as `--gate --fail-if kl.p99>0.1`: the job then fails where a scheme does.
OPTIONS="${MERGE_OPTIONS:-}"
LOWBIT_KV="${LOWBIT_KV:-npx --no-install lowbit-kv}"
# ----------------------------------------------------------------------------------------------------------------------

# shellcheck disable=SC2086 # Words of these two are options.
exec $LOWBIT_KV merge "$OUT" --out "$REPORT" $OPTIONS
