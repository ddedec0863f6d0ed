#!/bin/bash
# Starts a Slurm cluster of NODES emulated nodes with CPUS processors each on this machine, on loopback only, without munge.
#   DIR=<empty directory> PORT=<first of NODES + 1 free ports> slurm-up.sh NODES CPUS
#   then export SLURM_CONF=$DIR/slurm.conf
# Each node has a UTS namespace of its own where this user may make one, so that its host name differs.
nodes=${1:-2} cpus=${2:-4} last=$((${1:-2} - 1)) port=${PORT:-16817} here=$(hostname -s)
mkdir -p "$DIR/state" "$DIR/log" && chmod 755 "$DIR" || exit 1
for i in $(seq 0 $last); do mkdir -p "$DIR/spool/n$i" "$DIR/tmp/n$i"; done
cat > "$DIR/slurm.conf" <<END
ClusterName=towpath
SlurmctldHost=$here(127.0.0.1)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
SlurmctldPort=$port
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
AuthType=auth/none
CredType=cred/none
StateSaveLocation=$DIR/state
SlurmdSpoolDir=$DIR/spool/%n
TmpFS=$DIR/tmp/%n
SlurmctldPidFile=$DIR/slurmctld.pid
SlurmdPidFile=$DIR/slurmd-%n.pid
SlurmctldLogFile=$DIR/log/slurmctld
SlurmdLogFile=$DIR/log/slurmd-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
PropagateResourceLimits=NONE
KillOnBadExit=1
KillWait=2
NodeName=n[0-$last] NodeHostname=$here NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + 1 + last))] CPUs=$cpus State=UNKNOWN
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF=$DIR/slurm.conf
(cat /etc/hosts; echo "127.0.0.1 $(seq -s ' ' -f 'n%g' 0 $last)") > "$DIR/hosts"
setsid slurmctld -D -f "$SLURM_CONF" > "$DIR/log/ctld.out" 2>&1 &
echo $! > "$DIR/pid.ctld"
for i in $(seq 0 $last); do
    daemon="slurmd -D -N n$i -f $SLURM_CONF"
    if unshare --uts --mount true 2> "$DIR/log/unshare"; then
        daemon="unshare --uts --mount sh -c 'mount --bind $DIR/hosts /etc/hosts; hostname n$i; exec $daemon'"
    fi
    eval "exec setsid $daemon" > "$DIR/log/n$i.out" 2>&1 &
    echo $! > "$DIR/pid.n$i"
done
for _ in $(seq 200); do
    [ "$(timeout 2 sinfo -h -o '%T %D' 2> "$DIR/log/sinfo")" = "idle $nodes" ] && exit 0
    sleep 0.05
done
timeout 2 sinfo
tail -n 3 "$DIR"/log/*
exit 1
