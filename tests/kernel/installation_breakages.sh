# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154  # Its names are those of the other one.
# For each check of installation_guest.sh, which sources this, a breakage: `break_CHECK` does
# something wrong, with which the check must fail and say what `reason[CHECK]` matches (a pattern of
# bash). `repair_CHECK` puts all right, so that the check itself can run next.
declare -A reason

# Lines that a unit gets in addition: override UNIT LINE...
override() {
  mkdir -p "/run/systemd/system/$1.d"
  printf '%s\n' "${@:2}" >"/run/systemd/system/$1.d/broken.conf"
  systemctl daemon-reload
}
# A unit without the lines that a pattern matches: dependencies of a drop-in only add up.
without() {
  grep -Ev "$2" "/lib/systemd/system/$1" >"/run/systemd/system/$1"
  systemctl daemon-reload
}
as_installed() {
  rm -rf /run/systemd/system/fabricd{,@}.service{,.d}
  systemctl daemon-reload
}
# Maintainer scripts start, stop and restart nothing.
forbid_services() {
  printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
  chmod 755 /usr/sbin/policy-rc.d
}
allow_services() { rm -f /usr/sbin/policy-rc.d; }

reason[install]='dpkg -i'
break_install() { echo 'no package' >"$host/packages/broken.deb"; }
repair_install() { rm "$host/packages/broken.deb"; dpkg -P fabricd fabricctl libfabric-client-dev; }

reason[fabric]='umad0: 600 root root'
break_fabric() { mv /lib/udev/rules.d/90-fabricd.rules /root && udevadm control --reload; }
repair_fabric() {
  mv /root/90-fabricd.rules /lib/udev/rules.d && udevadm control --reload
  systemctl stop fabric
  wait_for 30 rmmod simib
  rm /run/console
}

reason[observe]='it does not observe'
break_observe() { sed -i 's/^mode: ""$/mode: standby/' /etc/fabricd/fabricd.yaml; }
repair_observe() {
  systemctl stop fabricd
  sed -i 's/^mode: standby$/mode: ""/' /etc/fabricd/fabricd.yaml
}

reason[start]='it does not run as fabricd'
break_start() { override fabricd.service '[Service]' User=root; }
repair_start() { systemctl stop fabricd; as_installed; }

reason[watchdog_restart]='fabricd is active after SIGSTOP, restarts 0'
break_watchdog_restart() {
  override fabricd.service '[Service]' WatchdogSec=0
  systemctl restart fabricd
}
repair_watchdog_restart() {
  as_installed
  systemctl kill -s KILL fabricd
  systemctl restart fabricd
}

reason[sandbox]='it writes /etc/open *'
break_sandbox() { override fabricd.service '[Service]' ProtectSystem=no; }
repair_sandbox() { as_installed; systemctl restart fabricd; }

reason[reload]='log.level is not read again'
break_reload() { override fabricd.service '[Service]' ExecReload= ExecReload=/bin/true; }
repair_reload() { as_installed; cat /root/config >/etc/fabricd/fabricd.yaml; }

reason[stop_and_start]='/run/fabricd is left'
break_stop_and_start() { override fabricd.service '[Service]' RuntimeDirectoryPreserve=yes; }
repair_stop_and_start() { as_installed; systemctl start fabricd; }

reason[upgrade]='the old program runs'
break_upgrade() { forbid_services; }
repair_upgrade() { allow_services; dpkg -i "$host"/packages/fabricd_*.deb; }

reason[instance]='fabricd.service is active'
break_instance() { without fabricd@.service ^Conflicts; }
repair_instance() { systemctl stop fabricd@simib1:1; as_installed; systemctl start fabricd; }

reason[removed_hca]='fabricd@simib1:1 outlives its HCA*'
break_removed_hca() { without fabricd@.service ^BindsTo; systemctl restart fabricd@simib1:1; }
repair_removed_hca() { as_installed; put_hca_back; systemctl restart fabricd@simib1:1; }

reason[beside_opensm]='opensm was *, is *'
break_beside_opensm() { override fabricd.service '[Unit]' Conflicts=opensm.service; }
repair_beside_opensm() { as_installed; dpkg -P opensm; set_mode manage; systemctl start fabricd; }

reason[manage_after_opensm]='opensm runs'
break_manage_after_opensm() { :; }  # The check does not stop it.
repair_manage_after_opensm() { :; }

reason[opensm_masked]='opensm runs'
break_opensm_masked() { :; }  # The check does not mask it.
repair_opensm_masked() { dpkg -P opensm; systemctl start fabricd; }

reason[remove]='fabricd runs on'
break_remove() { forbid_services; }
repair_remove() { allow_services; systemctl stop fabricd; dpkg -i "$host"/packages/fabricd_*.deb; }

reason[purge]='purge left /etc/fabricd'
break_purge() { touch /etc/fabricd/of-the-operator; }
repair_purge() { rm -r /etc/fabricd; dpkg -i "$host"/packages/*.deb; dpkg -r fabricd; }
