#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Slurm's HealthCheckProgram: drains a node whose network is not well, and resumes it when it is, if
# it was this script that drained it.
#
#   slurm.conf:  HealthCheckProgram=/etc/slurm/fabric/health_check.sh
#                HealthCheckInterval=60
#                HealthCheckNodeState=ANY
#
# Environment: SLURMD_NODENAME (slurmd sets it); FABRICCTL_SERVER or FABRICCTL_CONTEXT; SCONTROL in
# place of scontrol ("echo scontrol" shows what would be done).
node=${SLURMD_NODENAME:-$(hostname -s)}
scontrol=${SCONTROL:-scontrol}
mark="fabricd:"

line=$(fabricctl --timeout 5s check node "$node" --exit-code=npd)
verdict=$?

# Not known, or fabricd does not answer: no reason to take a node out of use.
[ "$verdict" -eq 2 ] && exit 0

if [ "$verdict" -eq 1 ]; then
  $scontrol update NodeName="$node" State=DRAIN Reason="$mark $line"
  exit 0
fi

# Well: only what was drained for its network is resumed.
case $(${SHOW_NODE:-scontrol show node} "$node") in
  *DRAIN*"Reason=$mark"*) $scontrol update NodeName="$node" State=RESUME ;;
esac
exit 0
