# Downloads nodeinit from the first mirror that has it, checks it, and installs it whole or not at all.
sha256=@SHA256@
path=/usr/local/bin/nodeinit
part=$path.part
reason=
said=
pause=5

is_good() { echo "$sha256  $1" | sha256sum --check --status 2>/dev/null; }

failed() { reason="$reason${reason:+; }$1"; }

# Continues where a connection broke. curl compares the size that a mirror announces, the shell what it writes: 256 MiB.
download() {
  status=$(ulimit -f 524288; curl --silent --show-error --fail --location --connect-timeout 10 --speed-limit 1000 --speed-time 30 \
    --max-filesize 268435456 --continue-at - --write-out '%{http_code}' --output "$part" "$1" 2>"$part.error")
  code=$?
  is_good "$part" && return
  case $code in
    0) failed "$1 has the SHA-256 $(sha256sum <"$part" | cut -c1-64), not $sha256" ;;
    63 | 153)
      failed "$1 is larger than 256 MiB"
      rm -f "$part"
      ;;
    127) failed "curl is not installed" ;;
    *) failed "$1: $(tail -n 1 "$part.error")" ;;
  esac
  # The part is as long as the whole and wrong, or the mirror sends only the whole.
  [ $code != 0 ] && [ $code != 33 ] && [ "$status" != 416 ] || rm -f "$part"
  return 1
}

install_from_a_mirror() {
  reason=
  for url in @URLS@; do
    if download "$url"; then
      chmod 755 "$part" && sync "$part" && mv "$part" "$path" && return
      failed "cannot install $path"
    fi
  done
  return 1
}

until is_good "$path" || install_from_a_mirror; do
  # Once for each reason: the console must not lose the host keys that it shows. curl reports milliseconds.
  same=$(echo "$reason" | tr -d 0-9)
  [ "$same" = "$said" ] || echo "nodeinit: no mirror has the program yet, trying again: $reason"
  said=$same
  sleep $pause
  [ $pause -ge 60 ] || pause=$((pause * 2))
done
rm -f "$part.error"
touch /usr/local/lib/nodeinit/fetched
echo "nodeinit: the program is in place"
