#!/usr/bin/env bash
# Records the libuv timers of a program (Node's, or any with libuv in its own file) in the neutral trace format.
#
#   sudo datasets/capture/libuv-timers.sh --out FILE.tt.csv [--seconds 30] -- node your-server.js
#   sudo datasets/capture/libuv-timers.sh --out FILE.tt.csv [--seconds 30] --pid PID
#
# The kernel stops the program at the entry of two functions (uprobes, through bpftrace); its source and its files
# stay as they are. Recording ends with the program, or after --seconds. See README.md beside this file.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]-$0}")" && pwd)

refuse() { # refuse WHAT MEND
  printf 'libuv-timers.sh: %s\n    %s\n' "$1" "$2" >&2
  exit 2
}

out='' seconds=30 pid=''
while (($#)); do
  case $1 in
    --out) out=${2-}; shift; shift || true ;;
    --seconds) seconds=${2-}; shift; shift || true ;;
    --pid) pid=${2-}; shift; shift || true ;;
    --) shift; break ;;
    *) refuse "there is no option \`$1\`" 'the options are --out, --seconds and --pid; a command stands behind --' ;;
  esac
done

[[ -n $out ]] || refuse 'no file is named' 'add --out FILE.tt.csv'
[[ ! -e $out ]] || refuse "$out: the file exists, and a recorded trace is never written over" 'choose another name'
[[ -d $(dirname "$out") ]] || refuse "$out: the folder does not exist" 'make it, or choose another'
[[ $seconds =~ ^[1-9][0-9]{0,2}$ ]] && ((seconds <= 600)) || refuse "--seconds is \`$seconds\`" 'it takes a whole number from 1 to 600'
if [[ -n $pid ]]; then
  (($# == 0)) || refuse '--pid and a command are both given' 'give one of them'
  [[ $pid =~ ^[1-9][0-9]*$ && -d /proc/$pid ]] || refuse "there is no process \`$pid\`" 'give the number of one that runs'
else
  (($#)) || refuse 'no program is named' 'add -- COMMAND..., or --pid PID'
fi
[[ $(uname -s) == Linux && $(uname -m) == x86_64 ]] || refuse "this is $(uname -sm)" 'the layout of the handle was read on 64-bit Linux for x86: record there'
((EUID == 0)) || refuse 'probes are set by root alone' 'run it with sudo'
command -v python3 >/dev/null || refuse 'there is no python3' 'install Python 3'
command -v nm >/dev/null || refuse 'there is no nm' 'install it (Debian: apt-get install binutils)'
command -v bpftrace >/dev/null || refuse 'there is no bpftrace' 'install it (Debian: apt-get install bpftrace)'
[[ -d /sys/bus/event_source/devices/uprobe ]] || refuse 'this kernel has no uprobes' 'use one built with CONFIG_UPROBE_EVENTS'

if [[ -n $pid ]]; then
  program=$(readlink "/proc/$pid/exe")
else
  program=$(readlink -f "$(command -v "$1" || true)") || true
  [[ -n $program ]] || refuse "there is no program \`$1\`" 'name one that is on PATH'
fi
folder=$(mktemp -d)
tracer='' child=''
end_tracer() {
  # A signal that comes before bpftrace listens is passed over, so it is repeated. The kernel takes the probes of
  # a bpftrace that is killed away.
  for ((try = 0; try < 100; try++)); do
    kill -INT "$tracer" 2>/dev/null || break
    sleep 0.1
  done
  kill -KILL "$tracer" 2>/dev/null || true
  wait "$tracer" 2>/dev/null || true
  tracer=''
}
stop() {
  trap '' INT TERM
  [[ -z $child ]] || kill "$child" 2>/dev/null || true
  [[ -z $tracer ]] || end_tracer
  rm -rf "$folder"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

nm "$program" >"$folder/symbols" 2>/dev/null || true
for symbol in uv_timer_start uv_timer_stop uv__run_timers; do
  grep -qw "$symbol" "$folder/symbols" ||
    refuse "$program has no symbol $symbol" 'use a build with libuv in it that is not stripped: those of nodejs.org and NodeSource are such'
done

# ---- recording -----------------------------------------------------------------------------------------

attached='' target=(-p "$pid") process="pid == $pid"
if [[ -n $pid ]]; then
  attached=--attached
else
  # bpftrace starts it once the probes are set. exec keeps its number, which the probes ask for.
  printf 'echo $$ >%q\nexec' "$folder/pid" >"$folder/program"
  printf ' %q' "$@" >>"$folder/program"
  target=(-c "/bin/bash $folder/program") process='pid == cpid'
fi
sed -e "s#PROGRAM#$program#; s#PROCESS#$process#" "$here/libuv-timers.bt" >"$folder/script.bt"

# bpftrace counts from boot where the kernel lets it, libuv from the same without the time asleep.
offset=$(python3 -c 'import time; print(max(0, time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.monotonic_ns()) // 1000000 * 1000000)')

BPFTRACE_CACHE_USER_SYMBOLS=1 bpftrace -B line -o "$folder/lines" "$folder/script.bt" "${target[@]}" 2>"$folder/words" &
tracer=$!
end=$((SECONDS + 60)) # for the probes
until [[ -n $pid ]]; do
  [[ ! -s $folder/pid ]] || { pid=$(<"$folder/pid") child=$pid; }
  kill -0 "$tracer" 2>/dev/null && ((SECONDS < end)) || break
  sleep 0.1
done
while [[ -n $attached ]] && kill -0 "$tracer" 2>/dev/null && ((SECONDS < end)); do
  ! grep -qs Attaching "$folder/lines" "$folder/words" || break
  sleep 0.1
done
end=$((SECONDS + seconds)) base=0
while [[ $base == 0 ]] && kill -0 "$tracer" 2>/dev/null; do
  [[ $(od -An -tu1 -j16 -N1 "$program") -ne 2 ]] || break # it is where its symbols say
  base=$(awk -v program="$program" '$6 == program { sub(/-.*/, "", $1); print $1; exit }' "/proc/$pid/maps" 2>/dev/null)
  base=${base:-0}
done
while kill -0 "$tracer" 2>/dev/null && ((SECONDS < end)); do sleep 0.1; done
[[ -z $child ]] || kill "$child" 2>/dev/null || true
end_tracer
child=''
[[ -s $folder/lines ]] || { cat "$folder/words" >&2; refuse 'bpftrace set no probes' 'its words are above'; }

lost=$(sed -n 's/^Lost \([0-9]*\) events.*/\1/p' "$folder/words" "$folder/lines" | awk '{ sum += $1 } END { print sum + 0 }')
python3 "$here/libuv_timers.py" --out "$out" --symbols "$folder/symbols" --base "$base" --lost "$lost" --boot-offset "$offset" $attached \
  --source "${TWB_TRACE_SOURCE:-recorded: one libuv program, not described (TWB_TRACE_SOURCE was not set)}" \
  --licence "${TWB_TRACE_LICENCE:-not stated (TWB_TRACE_LICENCE was not set)}" <"$folder/lines"
