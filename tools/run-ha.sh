# SPDX-License-Identifier: Apache-2.0
# Of tools/run --ha, which sources this after it has built: three etcds and two fabricds on
# loopback, on one fabric in ibsim. Uses its $dir, $once, step(), fail(); sets pids, which finish()
# ends.

ha_wait() {  # WHAT COMMAND...: until the command succeeds.
  local what=$1 deadline=$((SECONDS + 60))
  shift
  until "$@" >/dev/null 2>&1; do
    [[ $SECONDS -lt $deadline ]] || fail "after 60 s still waiting for: $what"
    sleep 0.1
  done
}

ha_ctl() { fabricctl --server "unix:$dir/$1.sock" "${@:2}"; }  # NODE COMMAND...
ha_show() {
  printf '\n%s$ fabricctl %s\n' "$1" "${*:2}"
  ha_ctl "$@"
}
ha_is_up() { ha_ctl "$1" get sm -o json | grep -q '"subnet_up": true'; }
ha_waits() { ha_ctl "$1" get sm -o json | grep -q '"mode": "standby"'; }

ha_start() {  # NODE HOST
  # In $dir: the shim leaves files where the process is killed.
  env -C "$dir" IBSIM_SOCKNAME=fabricd-run.$$ SIM_HOST="$2" LD_PRELOAD="$shim" \
    fabricd --config "$dir/$1.yaml" --fabric umad --mode manage --state-dir "$dir/$1.state" \
    --listen "unix:$dir/$1.sock" >"$dir/$1.log" 2>&1 &
  pids+=($!)
  log=$dir/$1.log
}

shims=(/usr/lib/*/umad2sim/libumad2sim.so)
shim=${shims[0]}
for needed in etcd ibsim "$shim"; do
  command -v "$needed" >/dev/null || [[ -e $needed ]] || fail "$needed is missing: see tools/deps"
done

step "a fabric in ibsim, and three etcds"
fabricsim generate superpod --sus 2 --hosts 4 --rails 2 --radix 8 --format ibsim >"$dir/fabric.net"
# ibsim ends with its input.
mkfifo "$dir/console"
IBSIM_SOCKNAME=fabricd-run.$$ ibsim -s "$dir/fabric.net" <"$dir/console" >"$dir/ibsim.log" 2>&1 &
pids+=($!)
exec {console}>"$dir/console"
ha_wait "ibsim" grep -q "simulator ready" "$dir/ibsim.log"
mapfile -t ports < <(python3 -c '
import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(6)]
print("\n".join(str(each.getsockname()[1]) for each in sockets))')
cluster=m0=http://127.0.0.1:${ports[3]},m1=http://127.0.0.1:${ports[4]},m2=http://127.0.0.1:${ports[5]}
endpoints=
for i in 0 1 2; do
  client=127.0.0.1:${ports[i]} peer=http://127.0.0.1:${ports[i + 3]}
  etcd --name "m$i" --data-dir "$dir/etcd$i" --initial-cluster "$cluster" \
    --listen-client-urls "http://$client" --advertise-client-urls "http://$client" \
    --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" >"$dir/etcd$i.log" 2>&1 &
  pids+=($!)
  endpoints+="${endpoints:+, }\"$client\""
done
for i in 0 1 2; do
  ha_wait "etcd $i" grep -q "ready to serve client requests" "$dir/etcd$i.log"
done

step "head1 manages, head2 waits beside it"
for node in head1 head2; do
  cat >"$dir/$node.yaml" <<EOF
store: etcd
etcd: {endpoints: [$endpoints], lease: 2s, timeout: 1s, advertise: "unix:$dir/$node.sock"}
telemetry: {enabled: false}
EOF
done
ha_start head1 H-02fab10000010000
master=${pids[-1]}
ha_wait "the subnet of head1" ha_is_up head1
ha_start head2 H-02fab10000050000
ha_wait "head2 beside head1" ha_waits head2
for node in head1 head2; do ha_show "$node" get sm; done

step "a change that is asked of head2 goes to head1"
ha_show head2 cordon node0003 --reason "a disk" 2>&1
ha_show head1 get holds

if [[ $once -eq 0 ]]; then
  echo
  echo "Kill the master with: kill -9 $master"
  echo "Then ask the other one: $PWD/build/bin/fabricctl --server unix:$dir/head2.sock get sm"
  echo "Logs are in $dir. Ctrl-C ends all."
  wait "${pids[0]}"
  exit
fi

step "head1 dies: kill -9"
begun=$(date +%s%3N)
kill -9 "$master"
ha_wait "the subnet of head2" ha_is_up head2
printf 'the subnet is up again after %d ms, with a lease of 2 s\n' $(($(date +%s%3N) - begun))
ha_show head2 get sm
ha_show head2 get holds
ha_ctl head2 get holds | grep -q node0003 || fail "the hold is lost"
step "every step held: a node dead, its state kept"
