# shellcheck shell=bash
# The services of the cloud: each is a process with a record (id and start time) in $state/run.
# shellcheck disable=SC2154 # lib.sh

# Service and loopback port (0: none), in starting order. Clients connect to the front door at the port plus 10000.
services='mariadb:0 epmd:4370 rabbitmq:5672 keystone:5000 placement:8778 glance:9292 neutron:9696 cinder:8776
cinder-scheduler:0 cinder-volume:0 nova-conductor:0 nova-scheduler:0 nova-compute:0 nova-compute-2:0 nova:8774
octavia:9876 octavia-worker:0 octavia-health:0 octavia-heartbeat:0 front:15000'

running() { is_alive "$state/run/$1"; }

# The remaining processes of a killed service: they are in its session and inside the root of the cloud.
end_orphans() {
  local leader process
  read -r leader _ 2>/dev/null <"$state/run/$1" || return 0
  for process in $(ps -o pid= -s "$leader"); do
    [ "$(readlink "/proc/$process/root")" != "$(realpath "$root")" ] || kill -KILL "$process" 2>/dev/null || true
  done
}

start() {
  ! running "$1" || return 0
  end_orphans "$1"
  (
    note_process "$BASHPID" >"$state/run/$1"
    renice -n 0 -p "$BASHPID" >/dev/null 2>&1 || true # the caller may have a lower priority
    exec_in_root setsid serve "$1"
  ) >>"$state/log/$1.log" 2>&1 </dev/null 8>&- &
  until [ -s "$state/run/$1" ]; do sleep 0.01; done
}

stop() {
  if running "$1"; then
    end_process "$state/run/$1" TERM
    for _ in {1..150}; do running "$1" || break; sleep 0.1; done
  fi
  end_orphans "$1"
  rm -f "$state/run/$1"
}

port_of() { local service; for service in $services; do [ "${service%:*}" != "$1" ] || echo "${service#*:}"; done; }
listens() { (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
answers() { curl -s -o /dev/null -m 10 "http://127.0.0.1:$1/"; }

# Waits until a command succeeds, at most the given number of seconds.
wait_for() {
  local seconds=$1 end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || { echo "timed out after $seconds s: $*" >&2; return 1; }
    sleep 0.2
  done
}

# Prints the current step, and the duration of the previous one.
step() {
  [ -z "${doing:-}" ] || echo "lab: $doing: done in $((SECONDS - started)) s" >&2
  doing=${1:-} started=$SECONDS
  [ -z "$doing" ] || echo "lab: $doing" >&2
}
explain() { # prints the ends of the logs written since the start of the step
  local status=$? log
  { [ $status != 0 ] && [ -n "${doing:-}" ]; } || return 0
  echo "lab: $doing: failed; logs are in $state/log" >&2
  for log in "$state"/log/*.log; do
    [ "$(stat -c %Y "$log")" -lt $((EPOCHSECONDS - SECONDS + started)) ] || tail -v -n 3 "$log" >&2
  done
}

check_ports() {
  local service
  for service in $services; do
    running "${service%:*}" || [ "${service#*:}" = 0 ] || ! listens "${service#*:}" ||
      die "port ${service#*:} of ${service%:*} is in use by another process"
  done
}

start_database() {
  [ -d "$state/mysql/mysql" ] || in_root mariadb-install-db --no-defaults --user=root --datadir=/oslab/mysql --skip-test-db >"$state/log/install-db.log" 2>&1
  start mariadb
  start epmd
  wait_for 60 in_root mariadb-admin --no-defaults --socket=/oslab/run/mysql.sock ping
  start rabbitmq
}

make_schemas() {
  in_root sh -e >"$state/log/schema.log" 2>&1 <"$cloud/schema.sh"
  echo "$root" >"$state/schema.done"
}

start_apis() {
  local name port
  start keystone
  wait_for 120 answers 5000
  [ -e "$state/identities.done" ] || in_root python3 - identities <"$cloud/bootstrap.py"
  touch "$state/identities.done"
  wait_for 120 listens 5672
  for name in placement glance neutron nova-conductor nova-scheduler nova-compute nova-compute-2 nova cinder cinder-scheduler cinder-volume octavia \
    octavia-worker octavia-health octavia-heartbeat front; do start "$name"; done
  for port in 8778 9292 9696 8776 8774 8775 9876 15000; do wait_for 180 answers $port; done
  admin disks
}

make_project() {
  wait_for 120 in_root nova-manage cell_v2 discover_hosts
  in_root python3 - tenant <"$cloud/bootstrap.py"
  install -m 600 "$state"/{openrc,clouds.yaml,ca.pem} "$OSLAB_DIR/"
  touch "$state/project.done"
}

up() {
  local service missing=
  for service in $services; do running "${service%:*}" || missing+=" ${service%:*}"; done
  if [ -z "$missing" ] && [ -e "$state/project.done" ]; then return; fi
  only_one openstack
  if [ -d "$state/run" ] && [ "$(cat "$state/schema.done" 2>/dev/null)" != "$root" ]; then
    echo "lab: creating a new cloud, because the old one is incomplete or its keys are in another root" >&2
    down
    rm -rf --one-file-system "$state"
  fi
  mkdir -p "$state"/{run,log,lock,faults,mysql,rabbitmq,glance,glance-staging,glance-tasks,cinder,nova,instances,octavia,keystone}
  "$cloud/make-root.sh"
  cp -a --no-preserve=ownership "$cloud/root/." "$root/"
  printf '127.0.0.1 localhost\n127.0.0.1 %s\n' "$(hostname)" >"$root/etc/hosts"
  rm -f "$state"/faults/*
  check_ports
  trap explain EXIT
  step "the cloud: database and message queue"
  start_database
  [ -e "$state/schema.done" ] || { step "the cloud: schemas and identities"; make_schemas; }
  step "the cloud: services"
  start_apis
  [ -e "$state/project.done" ] || { step "the cloud: project, image, networks"; make_project; }
  step
}

down() {
  local service names=() stopping=() name
  for service in $services; do names=("${service%:*}" "${names[@]}"); done
  for name in "${names[@]}"; do
    case $name in mariadb | rabbitmq | epmd) ;; *) stop "$name" & stopping+=($!) ;; esac
  done
  wait "${stopping[@]}"
  for name in rabbitmq epmd mariadb; do stop "$name"; done
}

start_and_wait() { # SERVICE; waits until it answers
  local port
  port=$(port_of "$1")
  [ -n "$port" ] || die "there is no service $1: $(printf '%s ' "${services//:+([0-9])/}")"
  start "$1"
  [ "$port" = 0 ] || wait_for 120 answers "$port"
  [ "$1" != cinder-volume ] || admin disks
}
