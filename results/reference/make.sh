#!/usr/bin/env bash
# Makes the runs of this folder, or those that are named: results/reference/make.sh [main] [retention] [scaling] [OPTION...]
#
# A run that is here is never replaced: move it away, or remove it, first. Options (`--quick`, `--rigorous`, `--pin 1`) go to
# the harness. Nothing else should run on the machine meanwhile.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=results/reference

main() {
  harness --impl five --workload documents,'replay-*' "$@"
}

retention() {
  harness --impl five --workload retention --alloc jemalloc,jemalloc-background,system "$@"
}

# How cost grows, of what every structure can do with a million timers in seconds. Single calls are told by `main`.
scaling() {
  harness --impl five --workload steady-enqueue-dispatch,cycle-1k-due,enqueue-in-order,cancel-in-order \
    --n 1k,10k,100k,1m --measure time,count "$@"
}

harness() {
  cargo run -p harness -- "$@"
}

# Keeps what cannot be made again, and each figure once: `harness` reads the journal, notebooks the Parquet tables and, for
# histograms, the journal. CSV twins and histograms as a table are left out, and of dhat's two profiles of a cell the second.
pack() {
  gzip -9n "$1/journal.jsonl"
  rm -f "$1"/*.csv "$1/latency.parquet" "$1"/heap/*-heap-1-*.json
}

names=()
while [ $# -gt 0 ] && [[ $1 != -* ]]; do names+=("$1"); shift; done
[ ${#names[@]} -gt 0 ] || names=(main retention scaling)
for name in "${names[@]}"; do
  case $name in
    main | retention | scaling) ;;
    *) echo "no run is called \`$name\`; there are main, retention and scaling" >&2; exit 2 ;;
  esac
  if [ -e "$here/$name" ]; then
    echo "$here/$name is there already; a run is never replaced: move it away first" >&2
    exit 1
  fi
done
for name in "${names[@]}"; do
  "$name" --out "$here/$name" "$@" >/dev/null
  pack "$here/$name"
done
du -sh "$here"/*/ >&2
