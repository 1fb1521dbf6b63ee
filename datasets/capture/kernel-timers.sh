#!/usr/bin/env bash
# Records the timers of the Linux kernel as ftrace text, without names of tasks.
#
#   sudo datasets/capture/kernel-timers.sh --out FILE.txt [--seconds 10] [--buffer-kb 16384] [-- COMMAND...]
#   datasets/capture/kernel-timers.sh --out FILE.txt --scrub RECORDED.txt
#
# The second form takes the names out of a trace that was recorded otherwise, and needs no root.
# With a COMMAND, recording ends when it ends, or after --seconds. The events are recorded in an instance of
# tracefs made for this run: its buffer, its clock and its events are its own, so no setting of the machine is
# changed, and removing the instance (also after Ctrl-C) leaves nothing behind. tracefs is mounted for the run
# where it is not. `harness dataset import --form ftrace` reads the file. See README.md beside this file.
set -euo pipefail

readonly EVENTS='timer_start timer_cancel timer_expire_entry hrtimer_init hrtimer_setup hrtimer_start hrtimer_cancel hrtimer_expire_entry'
readonly TRACEFS=/sys/kernel/tracing

refuse() { # refuse WHAT MEND
  printf 'kernel-timers.sh: %s\n    %s\n' "$1" "$2" >&2
  exit 2
}

whole() { # whole OPTION VALUE MOST
  [[ $2 =~ ^[1-9][0-9]{0,8}$ ]] && (($2 <= $3)) || refuse "$1 is \`$2\`" "it takes a whole number from 1 to $3"
}

out='' seconds=10 kilobytes=16384 recorded=''
while (($#)); do
  case $1 in
    --out) out=${2-}; shift; shift || true ;;
    --seconds) seconds=${2-}; shift; shift || true ;;
    --buffer-kb) kilobytes=${2-}; shift; shift || true ;;
    --scrub) recorded=${2-}; shift; shift || true ;;
    --) shift; break ;;
    *) refuse "there is no option \`$1\`" 'the options are --out, --seconds, --buffer-kb and --scrub; a command stands behind --' ;;
  esac
done
command=("$@")

[[ -n $out ]] || refuse 'no file is named' 'add --out FILE.txt'
[[ ! -e $out ]] || refuse "$out: the file exists, and a recorded trace is never written over" 'choose another name'
whole --seconds "$seconds" 600
whole --buffer-kb "$kilobytes" 262144

# ---- scrubbing ----------------------------------------------------------------------------------------

# A task is its number in order of appearance. `<idle>` is everybody's, and pointers are hashed by the kernel.
readonly SCRUB='
  /^#/ || /^CPU:/ { print; next }
  match($0, /-[0-9]+ +\[[0-9]+\] /) {
    rest = substr($0, RSTART)
    pid = rest; sub(/^-/, "", pid); sub(/ .*/, "", pid)
    sub(/^-[0-9]+ +/, "", rest)
    if (pid == "0") { print "          <idle>-0       " rest; next }
    if (!(pid in known)) known[pid] = ++tasks
    printf "%16s-%-7d %s\n", "task-" known[pid], known[pid], rest
    next
  }
  { lines++ }
  END { if (lines) printf "kernel-timers.sh: %d lines of no known form were left out\n", lines > "/dev/stderr" }
'

if [[ -n $recorded ]]; then
  [[ -r $recorded ]] || refuse "$recorded: cannot be read" 'name a trace in the text form of tracefs'
  awk "$SCRUB" "$recorded" >"$out"
  exit
fi

# ---- what is needed ------------------------------------------------------------------------------------

[[ $(uname -s) == Linux ]] || refuse "this is $(uname -s), and tracefs is a part of Linux" 'record on Linux'
((EUID == 0)) || refuse 'the kernel shows its timers to root alone' 'run it with sudo'
grep -qw tracefs /proc/filesystems || refuse 'this kernel has no tracefs' 'use one built with CONFIG_FTRACE (most distributions have it)'

# ---- setting up, and taking down whatever happens --------------------------------------------------

mounted='' instance='' child=''
restore() {
  trap '' INT TERM
  [[ -z $child ]] || kill -- "-$child" 2>/dev/null || true
  if [[ -n $instance && -d $instance ]]; then
    echo 0 >"$instance/tracing_on" || true
    rmdir "$instance" || echo "kernel-timers.sh: $instance is left: remove it with rmdir" >&2
  fi
  [[ -z $mounted ]] || umount "$TRACEFS" || true
}
trap restore EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

if [[ ! -d $TRACEFS/events ]]; then
  mount -t tracefs nodev "$TRACEFS" 2>/dev/null ||
    refuse "tracefs cannot be mounted on $TRACEFS" 'a container needs CAP_SYS_ADMIN and a writable /sys; or run it on the host'
  mounted=yes
fi
[[ -d $TRACEFS/events/timer ]] || refuse 'this kernel has no timer events' 'use one built with CONFIG_EVENT_TRACING'
instance=$TRACEFS/instances/timer-workbench-$$
mkdir "$instance" 2>/dev/null || { instance=''; refuse 'tracefs makes no instance' 'a kernel before 3.10 has none, and lockdown forbids it: use another'; }

echo 0 >"$instance/tracing_on"
echo mono >"$instance/trace_clock" || refuse 'this kernel has no clock `mono` for traces' 'use Linux 4.2 or later'
echo "$kilobytes" >"$instance/buffer_size_kb" || refuse "a buffer of $kilobytes KiB for each processor cannot be had" 'take less with --buffer-kb'
for event in $EVENTS; do
  [[ ! -d $instance/events/timer/$event ]] || echo 1 >"$instance/events/timer/$event/enable"
done
: >"$out" || refuse "$out: cannot be created" '--out must name a new file in a folder that exists and may be written to'

# ---- recording --------------------------------------------------------------------------------------

echo 1 >"$instance/tracing_on"
if ((${#command[@]})); then
  # A session of its own, so that the whole of it can be ended.
  setsid timeout --kill-after=5 "$seconds" "${command[@]}" &
else
  setsid sleep "$seconds" &
fi
child=$!
status=0
wait "$child" || status=$?
child=''
echo 0 >"$instance/tracing_on"
((status == 0 || status == 124)) || echo "kernel-timers.sh: the command ended with $status; the trace is kept" >&2

awk "$SCRUB" "$instance/trace" >"$out"

lost=$(awk '/^overrun:|^dropped events:/ { sum += $NF } END { print sum + 0 }' "$instance"/per_cpu/cpu*/stats)
events=$(grep -c '^[^#]' "$out" || true)
echo "kernel-timers.sh: $events events written to $out, $lost lost" >&2
((lost == 0)) || echo '    record with a larger --buffer-kb, or for a shorter time' >&2
((events > 0)) || { echo 'kernel-timers.sh: nothing was recorded' >&2; exit 1; }
