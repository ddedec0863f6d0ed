#!/bin/bash
# Ends what slurm-up.sh has started, by process number: DIR=... slurm-down.sh
export SLURM_CONF=$DIR/slurm.conf
timeout 5 scancel -u "$(id -un)"
sleep 0.3
# A process that has ended and that nobody has reaped counts as gone.
alive() { [ -d "/proc/$1" ] && ! grep -q '^State:.Z' "/proc/$1/status" 2>&1; }
steps=
for process in /proc/[0-9]*; do
    [ "$(cat "$process/comm" 2>&1)" = slurmstepd ] && ls -l "$process/fd" 2>&1 | grep -q " $DIR/" && steps="$steps ${process#/proc/}"
done
daemons=$(cat "$DIR"/pid.*)
for pid in $daemons; do kill "$pid" 2> "$DIR/log/kill"; done
for _ in $(seq 500); do
    left=
    for pid in $daemons; do alive "$pid" && left="$left $pid"; done
    [ -z "$left" ] && break
    sleep 0.02
done
for pid in $left $steps; do alive "$pid" && kill -9 "$pid"; done
rm -f "$DIR"/pid.*
