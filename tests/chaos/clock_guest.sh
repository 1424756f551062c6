#!/bin/busybox sh
# shellcheck shell=dash
# /init of the machine that clock.py boots: one load on three servers, undisturbed and again while
# the time of day is set to and fro, then one call with a deadline that the time is set across.
# Prints "RESULT NAME JSON" lines for clock.py. Environment, from the kernel's command line: LOAD,
# the flags of the load, and DEADLINE_S, of the call.
set -u
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t devtmpfs dev /dev
ip link set lo up

start() {
  tokendrawd --listen "127.0.0.1:5000$1" --grace_ms 5000 2>"/tmp/log.$1" &
  echo $! >"/tmp/pid.$1"
  until grep -q 'serving on' "/tmp/log.$1"; do sleep 0.1; done
}

stop() {
  pid=$(cat "/tmp/pid.$1")
  kill "$pid"
  wait "$pid" || {
    echo "RESULT crashed [$1, $?]"
    cat "/tmp/log.$1"
  }
}

jump() {
  date -s "@$(($(date +%s) + $1))" >/dev/null
  faults=$((faults + 1))
}

load() {
  # shellcheck disable=SC2086,SC2153 # words, and not misspelt
  tokendraw load --server 127.0.0.1:50001 --server 127.0.0.1:50002 --server 127.0.0.1:50003 \
    $LOAD --json >"/tmp/$1" 2>"/tmp/$1.err"
}

report() {
  cat "/tmp/$1.err"
  echo "RESULT $1 $(cat "/tmp/$1")"
}

for i in 1 2 3; do start $i; done

load undisturbed
report undisturbed

# A day back, and all three servers restarted before the day comes again: what waits for a time of
# day by then waits for some rounds.
load jumps &
load=$!
faults=0
i=1
while kill -0 $load 2>/dev/null; do
  for by in '86400 -3600' '-86400 3600' '-3600 3600' '-3600 3600' '-3600 3600' '-3600 3600'; do
    kill -0 $load 2>/dev/null || break
    stop $i
    sleep 0.5 # clients find it gone, and wait to connect again
    jump "${by% *}"
    start $i
    sleep 1
    jump "${by#* }"
    sleep 1
    faults=$((faults + 1))
    i=$((i % 3 + 1))
  done
done
report jumps
echo "RESULT faults $faults"

kill -STOP "$(cat /tmp/pid.1)"
begun=$(cut -d ' ' -f 1 /proc/uptime)
timeout -s KILL $((10 * DEADLINE_S)) \
  tokendraw health --server 127.0.0.1:50001 --deadline_ms $((1000 * DEADLINE_S)) &
call=$!
sleep 1
jump -3600
wait $call
echo "RESULT deadline [$begun, $(cut -d ' ' -f 1 /proc/uptime)]"
poweroff -f
