#!/bin/sh
# Stands in for the CNI plugin "flannel": runs the bridge plugin with the /24 that flanneld leased for this host.
lease=/run/flannel/subnet.env
if [ ! -r $lease ]; then
  [ "$CNI_COMMAND" != DEL ] || exit 0
  echo '{"cniVersion": "0.3.1", "code": 11, "msg": "no subnet lease yet"}'
  exit 1
fi
# shellcheck source=/dev/null
. $lease
exec "${0%/*}/bridge" <<END
{"cniVersion": "0.3.1", "name": "cbr0", "type": "bridge", "bridge": "cni0", "mtu": $FLANNEL_MTU, "isDefaultGateway": true, "hairpinMode": true,
 "ipam": {"type": "host-local", "ranges": [[{"subnet": "${FLANNEL_SUBNET%.*}.0/24"}]], "routes": [{"dst": "$FLANNEL_NETWORK"}]}}
END
