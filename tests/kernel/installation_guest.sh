#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What tools/package-test --systemd checks inside the guest: a service of its systemd, as root. Each
# function of `checks` is one; the later ones build on the earlier ones. One line each goes to
# /host/results (the host's build/package-test/), and "end" when all have run. Where there is
# /host/break, each check is run with its breakage first (installation_breakages.sh), and must fail.
set -u
exec 2>&1
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive
host=/host
most_exposed=2.5
topology=fat-tree:radix=8,levels=2

checks=(install fabric observe start watchdog_restart sandbox reload stop_and_start upgrade instance
        removed_hca opensm_masked beside_opensm manage_after_opensm remove purge)
broken=  # Not empty: the check runs with its breakage.
unit=/lib/systemd/system/fabricd.service

# ---- the means
note() { echo "      $*" >>"$host/results"; }
fail() { echo "$*" >"$host/reason"; exit 1; }
# Waits until a command succeeds: wait_for SECONDS COMMAND...
wait_for() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [[ $SECONDS -lt $end ]] || return 1
    sleep 0.2
  done
}
of() { systemctl show -P "$2" "$1"; }
is() { [[ $(systemctl is-active "$1") == "$2" ]]; }
attribute() { cat "/sys/class/infiniband/simib$1/ports/1/$2"; }
ports_active() {
  local hca
  for hca in 0 1 2; do [[ $(attribute $hca state) == *ACTIVE ]] || return 1; done
}
lids() { echo "$(attribute 0 lid) $(attribute 1 lid) $(attribute 2 lid)"; }

# ---- the checks
install() {
  dpkg -i "$host"/packages/*.deb || fail "dpkg -i"
  [[ -z $(dpkg --audit) ]] || fail "half installed: $(dpkg --audit)"
  is fabricd inactive || fail "the package started a subnet manager by itself"
}

fabric() {
  insmod "$host/simib.ko" hcas=3 || fail "insmod simib.ko"
  mkfifo /run/console
  systemd-run --unit=fabric \
    fabricsim serve "$topology" --kernel /dev/simib --console /run/console || fail "fabricsim serve"
  wait_for 60 grep -q INIT /sys/class/infiniband/simib2/ports/1/state || fail "simib2 has no link"
  local device
  for device in umad0 issm0; do
    wait_for 30 test -e /dev/infiniband/$device
    [[ $(stat -c '%a %G' /dev/infiniband/$device) == "660 fabric" ]] ||
      fail "$device: $(stat -c '%a %U %G' /dev/infiniband/$device)"
  done
  # Three ports are up, and fabricd does not guess.
  sed -i 's/^fabric: umad$/fabric: umad:simib0:1/' /etc/fabricd/fabricd.yaml
}

# As it was installed it only looks.
observe() {
  systemctl start fabricd || fail "systemctl start: $?"
  is fabricd active || fail "fabricd is $(systemctl is-active fabricd)"
  wait_for 30 fabricctl get sm || fail "fabricctl get sm"
  fabricctl get sm -o json | grep -q '"mode": *"observe"' || fail "it does not observe"
  wait_for 60 fabricctl takeover plan || fail "it has no takeover report"
  ! ports_active || fail "it has activated ports that it was only to look at"
  systemctl stop fabricd || fail "systemctl stop: $?"
}

start() {
  sed -i 's/^mode: ""$/mode: manage/' /etc/fabricd/fabricd.yaml
  systemctl start fabricd || fail "systemctl start: $?"
  is fabricd active || fail "fabricd is $(systemctl is-active fabricd)"
  wait_for 60 ports_active || fail "ports are $(cat /sys/class/infiniband/*/ports/1/state | xargs)"
  [[ $(stat -c %U "/proc/$(of fabricd MainPID)") == fabricd ]] || fail "it does not run as fabricd"
  fabricctl get sm || fail "fabricctl get sm"
}

restarted() { [[ $(of fabricd NRestarts) -ge 1 ]] && is fabricd active; }

# A stopped process feeds no watchdog: systemd ends it and starts another.
watchdog_restart() {
  local pid before
  pid=$(of fabricd MainPID)
  before=$(lids)
  kill -STOP "$pid"
  wait_for 120 restarted ||
    fail "fabricd is $(systemctl is-active fabricd) after SIGSTOP, restarts $(of fabricd NRestarts)"
  journalctl -u fabricd | grep -q 'Watchdog timeout' || fail "it was not the watchdog"
  [[ ! -e /proc/$pid ]] || fail "the stopped process is there still"
  ports_active || fail "ports are not ACTIVE"
  [[ $(lids) == "$before" ]] || fail "LIDs were $before, are $(lids)"
}

# A program in the sandbox of the service (its ExecStartPre) tries what it must not be able to do.
# The same user outside of the sandbox can, so that it is the sandbox that is checked.
sandbox() {
  local status place
  status=/proc/$(of fabricd MainPID)/status
  [[ $(grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' "$status" | awk '{print $2}' | xargs) == \
    "0000000000000000 0000000000000000 1 2" ]] ||
    fail "$(grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' "$status" | xargs)"
  mkdir -p /etc/open /srv/open /usr/open /home/open /run/open /var/lib/open
  chmod 777 /etc/open /srv/open /usr/open /home/open /run/open /var/lib/open
  chmod 666 /dev/vda
  cat >/usr/local/bin/probe <<'END'
#!/bin/bash
for place in /etc/open /srv/open /usr/open /home/open /run/open /var/lib/open; do
  touch "$place/file" 2>/dev/null && echo "writes $place"
done
touch /tmp/of-the-service && echo "writes /tmp"
head -c 1 /dev/vda >/dev/null 2>&1 && echo "reads /dev/vda"
touch /var/lib/fabricd/file && echo "writes /var/lib/fabricd"
touch /run/fabricd/file && echo "writes /run/fabricd"
unshare -U true 2>/dev/null && echo "makes a namespace"
[ -e /proc/1 ] && echo "sees process 1"
[ -e /proc/meminfo ] && echo "sees /proc/meminfo"
exit 0
END
  chmod 755 /usr/local/bin/probe
  mkdir -p /run/systemd/system/fabricd.service.d
  printf '[Service]\nExecStartPre=/bin/sh -c "/usr/local/bin/probe >/var/lib/fabricd/probe"\n' \
    >/run/systemd/system/fabricd.service.d/probe.conf
  systemctl daemon-reload
  systemctl restart fabricd || fail "restart with the probe"
  local outside inside
  inside=$(xargs </var/lib/fabricd/probe)
  outside=$(setpriv --reuid=fabricd --regid=fabric --clear-groups /usr/local/bin/probe | xargs)
  rm -r /run/systemd/system/fabricd.service.d /{etc,srv,usr,home,run,var/lib}/open
  chmod 660 /dev/vda
  rm -f /var/lib/fabricd/{file,probe} /run/fabricd/file
  systemctl daemon-reload
  for place in /etc/open /srv/open /usr/open /home/open /run/open /var/lib/open; do
    [[ $outside == *"writes $place"* ]] || fail "the probe itself is no good: $outside"
  done
  [[ $outside == *"reads /dev/vda"*"makes a namespace sees process 1 sees /proc/meminfo"* ]] ||
    fail "the probe itself is no good: $outside"
  # The service's own /tmp can be written, and is nobody else's.
  [[ $inside == "writes /tmp writes /var/lib/fabricd writes /run/fabricd" ]] || fail "it $inside"
  systemctl restart fabricd
  local exposure
  exposure=$(systemd-analyze security --no-pager fabricd.service |
    sed -n 's/.*Overall exposure level for .*: \([0-9.]*\) .*/\1/p')
  note "systemd-analyze security: $exposure"
  awk -v e="$exposure" -v most="$most_exposed" 'BEGIN { exit !(e != "" && e <= most) }' ||
    fail "exposure $exposure"
}

# A good configuration takes effect in the same process; a faulty one is refused and changes
# nothing.
reload() {
  local pid config=/etc/fabricd/fabricd.yaml
  pid=$(of fabricd MainPID)
  cp -p $config /root/config
  sed -i 's/^  level: info/  level: debug/' $config
  systemctl reload fabricd || fail "systemctl reload: $?"
  wait_for 60 eval "journalctl _PID=$pid | grep -q 'read again: .*log.level'" ||
    fail "log.level is not read again"
  echo 'no_such_key: 1' >>$config
  ! systemctl reload fabricd || fail "a faulty configuration is not refused"
  wait_for 10 eval "journalctl -u fabricd | grep -q no_such_key" ||
    fail "its fault is not in the journal"
  # The same by a signal alone.
  kill -HUP "$pid"
  wait_for 60 eval "journalctl _PID=$pid | grep -q 'reload refused'" ||
    fail "SIGHUP: not refused"
  cat /root/config >$config
  systemctl reload fabricd || fail "systemctl reload of the first one: $?"
  [[ $(of fabricd MainPID) == "$pid" ]] || fail "it is another process"
  ports_active || fail "ports are not ACTIVE"
}

# The fabric works on without its subnet manager.
stop_and_start() {
  local before
  before=$(lids)
  systemctl stop fabricd || fail "systemctl stop: $?"
  is fabricd inactive || fail "fabricd is $(systemctl is-active fabricd)"
  [[ $(of fabricd Result) == success && $(of fabricd ExecMainStatus) == 0 ]] ||
    fail "result $(of fabricd Result), status $(of fabricd ExecMainStatus)"
  [[ ! -e /run/fabricd ]] || fail "/run/fabricd is left"
  ports_active || fail "ports are not ACTIVE"
  systemctl enable --now fabricd || fail "systemctl enable --now: $?"
  wait_for 60 ports_active || fail "ports are not ACTIVE"
  [[ $(lids) == "$before" ]] || fail "LIDs were $before, are $(lids)"
}

upgrade() {
  local pid before
  pid=$(of fabricd MainPID)
  before=$(lids)
  echo '# of the operator' >>/etc/fabricd/fabricd.yaml
  dpkg -i "$host"/newer/*.deb || fail "dpkg -i"
  [[ $(dpkg-query -W -f '${Version}' fabricd) == *.1 ]] || fail "the version is the old one"
  is fabricd active || fail "fabricd is $(systemctl is-active fabricd)"
  [[ $(of fabricd MainPID) != "$pid" ]] || fail "the old program runs"
  [[ $(of fabricd NeedDaemonReload) == no ]] || fail "systemd has the old unit"
  systemctl is-enabled fabricd || fail "it is enabled no more"
  grep -q '# of the operator' /etc/fabricd/fabricd.yaml || fail "the configuration is another"
  wait_for 60 ports_active || fail "ports are not ACTIVE"
  [[ $(lids) == "$before" ]] || fail "LIDs were $before, are $(lids)"
}

# One daemon per port takes the place of the one for the machine, and an upgrade restarts it too.
instance() {
  local instance=fabricd@simib1:1 pid
  systemctl enable --now $instance || fail "systemctl enable --now: $?"
  is fabricd inactive || fail "fabricd.service is $(systemctl is-active fabricd)"
  is $instance active || fail "it is $(systemctl is-active $instance)"
  [[ -e /var/lib/fabricd/simib1:1/fabricd.db ]] || fail "it has no state"
  fabricctl --server unix:/run/fabricd/simib1:1/fabricd.sock get sm || fail "fabricctl get sm"
  wait_for 60 ports_active || fail "ports are not ACTIVE"
  pid=$(of $instance MainPID)
  dpkg -i "$host"/newer/*.deb || fail "dpkg -i"
  is $instance active || fail "it is $(systemctl is-active $instance) after the upgrade"
  is fabricd inactive || fail "the upgrade started fabricd.service"
  [[ $(of $instance MainPID) != "$pid" ]] || fail "after an upgrade the old program runs"
}

put_hca_back() {
  echo 'add 1' >/run/console
  wait_for 60 test -e /sys/class/infiniband/simib1
}

# An instance lives and dies with its port.
removed_hca() {
  local instance=fabricd@simib1:1
  is $instance active || fail "no instance runs"
  echo 'remove 1' >/run/console
  wait_for 60 is $instance inactive ||
    fail "$instance outlives its HCA: $(systemctl is-active $instance)"
  put_hca_back || fail "simib1 does not come back"
  systemctl start fabricd || fail "systemctl start: $?"
  wait_for 60 ports_active || fail "ports are not ACTIVE"
}

# The package of opensm starts one on all ports, unless the service is masked: so the manual says.
opensm_masked() {
  [[ $broken ]] || systemctl mask opensm || fail "systemctl mask opensm: $?"
  dpkg -i /packages/opensm_*.deb || fail "dpkg -i"
  is fabricd active || fail "the package of opensm stopped fabricd"
  ! wait_for 5 pgrep_opensm || fail "opensm runs"
  dpkg -P opensm || fail "dpkg -P"
  systemctl unmask opensm
}

set_mode() { sed -i "s/^mode: .*/mode: $1/" /etc/fabricd/fabricd.yaml; }
opensms() { grep -lx opensm /proc/[0-9]*/comm | xargs; }
refused() {
  journalctl -u fabricd --since "$1" | grep -q 'another subnet manager (opensm'
}

# An observer leaves the opensm of its machine alone. A manager is refused the port of one, and that
# one stays.
beside_opensm() {
  local running port since
  systemctl stop fabricd || fail "systemctl stop: $?"
  dpkg -i /packages/opensm_*.deb || fail "dpkg -i"
  port=$(ibstat -p | head -n 1)
  wait_for 30 is "opensm@$port" active || fail "opensm@ is $(systemctl is-active "opensm@$port")"
  running=$(opensms)
  set_mode observe
  systemctl start fabricd || fail "systemctl start: $?"
  wait_for 60 eval "fabricctl takeover plan | grep -q '^Takeover report'" ||
    fail "no takeover report beside opensm"
  [[ $running && $(opensms) == "$running" ]] || fail "opensm was $running, is $(opensms)"
  is opensm active || fail "opensm.service is $(systemctl is-active opensm) beside an observer"
  since=$(date '+%F %T')
  set_mode manage
  ! systemctl restart fabricd || fail "it manages a port that opensm has"
  wait_for 10 refused "$since" || fail "the journal does not say who has the port"
  [[ $(opensms) == "$running" ]] || fail "opensm was $running, is $(opensms) beside a manager"
}

# The step to a manager, and back, as docs/HARDWARE.md has it.
manage_after_opensm() {
  local port
  port=$(ibstat -p | head -n 1)
  [[ $broken ]] || systemctl disable opensm || fail "systemctl disable opensm: $?"
  [[ $broken ]] || systemctl stop opensm 'opensm@*' || fail "systemctl stop opensm: $?"
  ! pgrep_opensm || fail "opensm runs"
  systemctl mask opensm || fail "systemctl mask opensm: $?"
  systemctl restart fabricd || fail "systemctl restart fabricd: $?"
  wait_for 60 eval 'fabricctl get sm | grep -q MASTER' || fail "$(fabricctl get sm | xargs)"
  ports_active || fail "ports are not ACTIVE"
  # One on its port that is started by itself: the kernel refuses it the management classes.
  systemctl start "opensm@$port" || fail "systemctl start opensm@: $?"
  wait_for 30 eval "journalctl -u 'opensm@*' | grep -q 'another instance of OpenSM'" ||
    fail "opensm@GUID is not refused"
  wait_for 30 eval '! pgrep_opensm' || fail "opensm@GUID runs on fabricd's port"
  is fabricd active || fail "opensm@GUID ends fabricd"
  # And back.
  systemctl stop fabricd || fail "systemctl stop fabricd: $?"
  systemctl unmask opensm || fail "systemctl unmask opensm: $?"
  systemctl enable --now opensm || fail "systemctl enable --now opensm: $?"
  wait_for 30 is "opensm@$port" active || fail "opensm@ is $(systemctl is-active "opensm@$port")"
  ports_active || fail "ports are not ACTIVE"
  systemctl stop opensm 'opensm@*'
}
pgrep_opensm() { grep -qx opensm /proc/[0-9]*/comm; }

remove() {
  dpkg -P opensm
  systemctl start fabricd || fail "systemctl start: $?"
  dpkg -r fabricd || fail "dpkg -r"
  ! grep -qx fabricd /proc/[0-9]*/comm || fail "fabricd runs on"
  [[ ! -e $unit && $(of fabricd LoadState) != loaded ]] || fail "systemd knows the unit"
  [[ -e /etc/fabricd/fabricd.yaml ]] || fail "it took the configuration"
  [[ -e /var/lib/fabricd/fabricd.db ]] || fail "it took the state"
  ports_active || fail "ports are not ACTIVE"
}

purge() {
  local path
  dpkg -P fabricd libfabric-client-dev || fail "dpkg -P"
  for path in /etc/fabricd /var/lib/fabricd /run/fabricd /usr/bin/fabricd \
    /etc/systemd/system/multi-user.target.wants/fabricd{,@simib1:1}.service; do
    [[ ! -e $path && ! -L $path ]] || fail "purge left $path"
  done
  [[ -z $(systemctl list-units --all --no-legend 'fabricd*') ]] ||
    note "systemd lists $(systemctl list-units --all --no-legend --plain 'fabricd*' | xargs)"
}

# ---- the end
rm -f "$host/results"
echo "on $(uname -sr), $(systemctl --version | head -n 1)" >"$host/results"
# Whether a check passes; why it does not is in /host/reason.
passes() {
  rm -f "$host/reason"
  ("$1")
}
# shellcheck source=tests/kernel/installation_breakages.sh
. "$host/installation_breakages.sh"
break_it() {
  local check=$1 said
  "break_$check"
  broken=yes
  if passes "$check"; then said='it passes'; else said=$(cat "$host/reason"); fi
  broken=
  "repair_$check"
  # shellcheck disable=SC2053  # A pattern.
  if [[ $said == ${reason[$check]} ]]; then
    echo "ok    $check  broken: $said" >>"$host/results"
  else
    echo "FAIL  $check  broken: $said, not: ${reason[$check]}" >>"$host/results"
  fi
}
for check in "${checks[@]}"; do
  before=$SECONDS
  [[ ! -e $host/break ]] || break_it "$check"
  if passes "$check"; then
    echo "ok    $check  $((SECONDS - before)) s" >>"$host/results"
  else
    echo "FAIL  $check: $(cat "$host/reason" 2>/dev/null)" >>"$host/results"
  fi
  [[ $check != "$(cat "$host/until")" ]] || break
done
dmesg >"$host/kernel.log"
journalctl --no-pager -o short-monotonic >"$host/journal"
echo end >>"$host/results"
sync
