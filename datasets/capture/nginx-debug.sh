#!/usr/bin/env bash
# Runs an nginx of its own under a bounded keep-alive load and keeps the timer lines of its debug log.
#
#   datasets/capture/nginx-debug.sh --out FILE.log [--seconds 30] [--clients 64] [--think 0.7] ...
#
# Options besides --out are those of http_load.py, which makes the load and is the upstream. Everything is on
# 127.0.0.1 with ports the system chooses and in a temporary folder that is removed; no running nginx is touched.
# NGINX names another nginx; LEVEL=notice runs the same without debug lines and without a trace, to compare the cost.
# `harness dataset import --form nginx` reads the file. See README.md beside this file.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

refuse() { # refuse WHAT MEND
  printf 'nginx-debug.sh: %s\n    %s\n' "$1" "$2" >&2
  exit 2
}

out=''
if [[ ${1-} == --out ]]; then
  out=${2-}
  shift; shift || true
fi
[[ -n $out ]] || refuse 'no file is named' 'begin with --out FILE.log; options of http_load.py may follow'
[[ ! -e $out ]] || refuse "$out: the file exists, and a recorded trace is never written over" 'choose another name'
[[ -d $(dirname "$out") ]] || refuse "$out: the folder does not exist" 'make it, or choose another'
python=$(command -v python3) || refuse 'there is no python3' 'install Python 3.11 or later; the load is a Python script'
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || refuse "$python is older than 3.11" 'install Python 3.11 or later'
nginx=${NGINX:-$(PATH=$PATH:/usr/sbin:/usr/local/sbin command -v nginx || true)}
[[ -n $nginx ]] || refuse 'there is no nginx' 'install it (Debian: apt-get install nginx-light), or name one in NGINX'
build=$("$nginx" -V 2>&1) || refuse "$nginx does not run" 'name another in NGINX'
[[ $build == *--with-debug* ]] ||
  refuse "$nginx was built without --with-debug, so its log shows no timers" 'name one in NGINX that was: those of Debian and Ubuntu are'
check='import argparse, http_load; http_load.options(argparse.ArgumentParser("nginx-debug.sh --out FILE.log")).parse_args()'
PYTHONPATH=$here "$python" -c "$check" "$@" || exit

level=${LEVEL:-debug}
[[ $level == debug || $level == notice ]] || refuse "LEVEL is \`$level\`" 'leave it out, or set it to notice'

# ---- an nginx in a folder of its own ------------------------------------------------------------------

folder=$(mktemp -d)
server='' load=''
stop() {
  trap '' INT TERM
  [[ -z $load ]] || kill "$load" 2>/dev/null || true
  [[ -z $server ]] || { kill -TERM "$server" 2>/dev/null && wait "$server" || true; }
  rm -rf "$folder"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

read -r port upstream < <("$python" - <<'PORTS'
import socket
sockets = [socket.create_server(('127.0.0.1', 0)) for _ in range(2)]
print(*(one.getsockname()[1] for one in sockets))
PORTS
)

cat >"$folder/nginx.conf" <<CONF
daemon off;
worker_processes 1;
pid $folder/nginx.pid;
error_log $folder/debug.log $level;
events { worker_connections 2048; }
http {
  access_log off;
  client_body_temp_path $folder/body;
  proxy_temp_path $folder/proxy;
  fastcgi_temp_path $folder/fastcgi;
  uwsgi_temp_path $folder/uwsgi;
  scgi_temp_path $folder/scgi;
  client_header_timeout 7s;
  keepalive_timeout 5s;
  send_timeout 3s;
  upstream items {
    server 127.0.0.1:$upstream max_fails=0;
    keepalive 16;
    keepalive_timeout 4s;
  }
  server {
    listen 127.0.0.1:$port;
    location / {
      proxy_pass http://items;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_connect_timeout 2s;
      proxy_send_timeout 2s;
      proxy_read_timeout 500ms;
      proxy_max_temp_file_size 0;
    }
    location /page/ { return 200 "page\n"; }
  }
}
CONF

"$nginx" -p "$folder" -e "$folder/debug.log" -c "$folder/nginx.conf" &
server=$!
for _ in $(seq 100); do
  [[ -s $folder/nginx.pid ]] && break
  kill -0 "$server" 2>/dev/null || break
  sleep 0.1
done
kill -0 "$server" 2>/dev/null || {
  tail -n 3 "$folder/debug.log" >&2 || true
  echo 'nginx-debug.sh: nginx did not start; its reason is above' >&2
  exit 1
}

# ---- recording ----------------------------------------------------------------------------------------

"$python" "$here/http_load.py" --port "$port" --upstream "$upstream" "$@" &
load=$!
status=0
wait "$load" || status=$?
load=''
# The fields behind the name are counted from its end: user and system time in ticks of 10 ms.
ticks=$(cat /proc/[0-9]*/stat 2>/dev/null | sed 's/.*) //' | awk -v server="$server" '$2 == server { print $12 + $13 }' || true)
echo "nginx-debug.sh: the worker used $((${ticks:-0} * 10)) ms of processor time" >&2
kill -QUIT "$server"
wait "$server" || true
server=''
((status == 0)) || { echo "nginx-debug.sh: the load ended with $status; there is no trace" >&2; exit 1; }

[[ $level == debug ]] || exit 0

# Only lines about timers: date, process and connection numbers, descriptors, ms. No paths, headers or addresses.
timers='event timer add: |event timer del: |event timer: |timer delta: |epoll timer: '
grep -E "\[debug\] [0-9]+#[0-9]+: (\*[0-9]+ )?($timers)" "$folder/debug.log" >"$out" ||
  { echo 'nginx-debug.sh: the log shows no timers' >&2; exit 1; }
echo "nginx-debug.sh: $(wc -l <"$out") lines written to $out, of $(wc -l <"$folder/debug.log")" >&2
