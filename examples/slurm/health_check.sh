#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Slurm's HealthCheckProgram: drains a node whose network is not well, and resumes it when it is, if
# it was this script that drained it. What an admin has drained is the admin's: this script neither
# resumes it nor puts its own reason in the place of the admin's.
#
#   slurm.conf:  HealthCheckProgram=/etc/slurm/fabric/health_check.sh
#                HealthCheckInterval=60
#                HealthCheckNodeState=ANY
#
# Environment: SLURMD_NODENAME (slurmd sets it); FABRICCTL_SERVER or FABRICCTL_CONTEXT; SCONTROL in
# place of scontrol.
node=${SLURMD_NODENAME:-$(hostname -s)}
scontrol=${SCONTROL:-scontrol}
mark="fabricd:"

line=$(fabricctl --timeout 5s check node "$node" --exit-code=npd)
verdict=$?

# fabricd has never seen it (it has no InfiniBand, or fabricd was restarted since it left), or does
# not answer: no reason to take a node out of use, nor to give it back.
[ "$verdict" -eq 2 ] && exit 0

# Whose drain it is, is what Slurm says. Where it says nothing, nothing is done.
shown=$($scontrol --oneliner show node "$node") || exit 0
state=$(printf '%s\n' "$shown" | sed -n 's/.*[[:space:]]State=\([^[:space:]]*\).*/\1/p')
reason=$(printf '%s\n' "$shown" | sed -n 's/.*[[:space:]]Reason=\(.*\)/\1/p')
[ -n "$state" ] || exit 0
case $state in
  *DRAIN*)
    case $reason in
      "$mark"*) drained=ours ;;
      *) exit 0 ;;
    esac ;;
  *) drained=no ;;
esac

if [ "$verdict" -eq 1 ] && [ "$drained" = no ]; then
  $scontrol update NodeName="$node" State=DRAIN Reason="$mark $line"
elif [ "$verdict" -eq 0 ] && [ "$drained" = ours ]; then
  $scontrol update NodeName="$node" State=RESUME
fi
exit 0
