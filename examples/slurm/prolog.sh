#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Slurm's PrologSlurmctld: a job does not start on hosts whose network is not well. An exit code other
# than 0 requeues the job, and Slurm looks for other nodes once the health check has drained those.
# Nodes without InfiniBand, which fabricd has never seen, take jobs.
#
#   slurm.conf:  PrologSlurmctld=/etc/slurm/fabric/prolog.sh
#
# Environment: SLURM_JOB_NODELIST (slurmctld sets it); FABRICCTL_SERVER or FABRICCTL_CONTEXT.
fabricctl --timeout 10s readiness "$SLURM_JOB_NODELIST" --allow-unseen --no-headers >&2
case $? in
  0) exit 0 ;;      # All are READY.
  4) exit 0 ;;      # fabricd does not answer: jobs go on as they did before there was one.
  *) exit 1 ;;
esac
