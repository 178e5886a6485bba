# shellcheck shell=bash
# The load balancer in front of the masters: HAProxy on the machine.

# haproxy_config PORT ADDRESS...: forwards connections to the API servers that are ready. Only the health check uses TLS; it needs no credentials,
# because /readyz is open to everyone.
# shellcheck disable=SC2154 # network.sh
haproxy_config() {
  local address
  cat <<END
global
  log stdout format raw daemon
defaults
  mode tcp
  log global
  option redispatch
  timeout connect 2s
  timeout client 1h
  timeout server 1h
  timeout check 2s
listen api
  bind $machine_address:$1
  balance leastconn
  option httpchk GET /readyz
  http-check expect status 200
  default-server check check-ssl verify none inter 1s fastinter 250ms fall 2 rise 1 on-marked-down shutdown-sessions
END
  for address in "${@:2}"; do echo "  server $address $address:6443"; done
}

balance() { # PORT NAME|ADDRESS...
  local port=$1 name addresses=() config=$LAB_DIR/log/haproxy-$1.cfg
  for name in "${@:2}"; do
    case $name in
    *.*) addresses+=("$name") ;;
    *) addresses+=("$(cat "$LAB_DIR/hosts/$name/ip" 2>/dev/null)") || die "there is no host $name" ;;
    esac
  done
  need haproxy=haproxy
  mkdir -p "$LAB_DIR/log"
  haproxy_config "$port" "${addresses[@]}" >"$config"
  serve_with "$port" haproxy -db -f "$config"
}
