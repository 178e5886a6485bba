# shellcheck shell=bash
# Replaces the upstream servers: a file server with the layout of the release servers, and a registry with the images of the release.
# Both use certificates of the lab's CA, $LAB_DIR/upstream/ca.pem.
# shellcheck disable=SC2154 # network.sh

# Serves files at PORT and the registry at PORT + 1. With basic or token, only the user of $LAB_DIR/upstream/password has access; the token server
# is at PORT + 2.
upstream() { # PORT none|basic|token [CUT]
  local port=$1 access=$2 dir=$LAB_DIR/upstream filled
  case $access in none | basic | token) ;; *) die "unknown authentication $access: use none, basic or token" ;; esac
  need openssl=openssl
  mkdir -p "$LAB_DIR/log"
  upstream_credentials
  filled=$(upstream_filled)
  LAB_TLS=$dir serve_with "$port" python3 "$lab/serve.py" "$machine_address" "$port" "$filled/files" "${@:3}"
  [ "$access" != token ] || serve_with $((port + 2)) "$lab/upstream.py" token "$machine_address" $((port + 2)) "$dir"
  registry_config "$filled/registry" "$machine_address:$((port + 1))" >"$LAB_DIR/log/registry-$port.yml"
  {
    printf '  tls: {certificate: %s, key: %s}\n' "$dir/cert.pem" "$dir/key.pem"
    case $access in
    basic) printf 'auth: {htpasswd: {realm: lab, path: %s}}\n' "$dir/htpasswd" ;;
    token) printf 'auth: {token: {realm: "https://%s:%s/token", service: lab, issuer: lab, rootcertbundle: %s}}\n' "$machine_address" $((port + 2)) "$dir/ca.pem" ;;
    esac
  } >>"$LAB_DIR/log/registry-$port.yml"
  serve_with $((port + 1)) "$(registry)" serve "$LAB_DIR/log/registry-$port.yml"
}

registry_config() { # DIRECTORY ADDRESS; the output ends inside `http`
  printf 'version: 0.1\nlog: {accesslog: {disabled: false}}\nstorage: {filesystem: {rootdirectory: %s}}\nhttp:\n  addr: %s\n' "$@"
}

registry() { # unpacks Debian's docker-registry, because installing the package would start a service on the machine
  local at=$LAB_DIR/part/docker-registry
  (
    only_one docker-registry
    [ -e "$at" ] || progress "unpacking docker-registry" unpack_registry "$at"
  )
  echo "$at/usr/bin/docker-registry"
}
unpack_registry() {
  rm -rf "$1.new"
  mkdir -p "$1.new"
  cd "$1.new"
  apt-get download -q docker-registry || { apt_alone update -q && apt-get download -q docker-registry; }
  dpkg-deb -x docker-registry_*.deb .
  mv "$1.new" "$1"
}

upstream_credentials() {
  local dir=$LAB_DIR/upstream
  (
    only_one upstream
    [ ! -e "$dir/cert.pem" ] || exit 0
    mkdir -p "$dir"
    cd "$dir"
    openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj '/CN=upstream of the lab' -keyout ca.key -out ca.pem
    openssl req -newkey rsa:2048 -nodes -subj "/CN=$machine_address" -keyout key.pem -out request.pem
    openssl x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 3650 -out cert.new \
      -extfile <(echo "subjectAltName = IP:$machine_address")
    printf 'lab:%s\n' "$(openssl rand -hex 12)" >password
    python3 -W ignore -c 'import crypt, sys; user, word = input().split(":"); print(user + ":" + crypt.crypt(word, crypt.METHOD_BLOWFISH))' <password >htpasswd
    mv cert.new cert.pem
  ) 2>"$LAB_DIR/log/upstream-credentials.log"
}

upstream_filled() { # prepares the content of the servers, once per release
  local bin images filled more
  { read -r bin; read -r images; read -r _; } < <("$lab/prepare.sh")
  filled=$(release_dir)/upstream
  (
    only_one upstream
    cmp -s "$filled/of" "$(release_dir)/images.done" || progress "filling the replacements of the upstream servers" fill_upstream "$bin" "$images" "$filled"
    more=$(cd "$bin/.." && ls -di bin/runtime images/addons/{kube-vip,etcd-3.6}.tar 2>/dev/null || true)
    [ "$(cat "$filled/more" 2>/dev/null)" = "$more" ] || {
      progress "adding to the replacements of the upstream servers" push_upstream more "$bin" "$images" "$filled"
      echo "$more" >"$filled/more"
    }
  )
  echo "$filled"
}
fill_upstream() {
  rm -rf "$3"
  mkdir -p "$3/files"
  push_upstream fill "$@"
  cp "$(release_dir)/images.done" "$3/of"
}
push_upstream() { # fill|more BIN IMAGES DIRECTORY; more adds images that only some tests build
  local registry status=0 verb=$1
  shift
  registry_config "$3/registry" 127.0.0.1:16999 >"$3/registry.yml"
  "$(registry)" serve "$3/registry.yml" &
  registry=$!
  for _ in $(seq 100); do (: </dev/tcp/127.0.0.1/16999) 2>/dev/null && break; sleep 0.05; done
  "$lab/upstream.py" "$verb" "$1" "$2" "$3" 16999 || status=$?
  kill "$registry"
  return "$status"
}
