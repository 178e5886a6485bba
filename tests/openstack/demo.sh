#!/usr/bin/env bash
# Runs the demo on OpenStack: `provisioner apply` creates a cluster in the cloud, `destroy` deletes it: demo.sh NODEINIT PROVISIONER [CONFIG...]
# Each CONFIG is added to the default configuration files. The provisioner writes the kubeconfig to LAB_KUBECONFIG.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"
nodeinit=$(realpath "${1:?NODEINIT}")
provisioner=$(realpath "${2:?PROVISIONER}")
configs=(--config "$here/../../docs/examples/openstack.yaml" --config "$(release_dir)/cluster.yaml" --config "$here/cluster.yaml")
for config in "${@:3}"; do configs+=(--config "$(realpath "$config")"); done
say() { printf '\n%s==> %s%s\n' "$bold" "$*" "$plain"; }
bold='' plain=''
if [ -t 1 ]; then bold=$'\e[1m' plain=$'\e[0m'; fi
cloud() { "$here/cloud.sh" "$@"; }

say "the cloud"
cloud up
[ -z "$(cloud objects)" ] || die "project $OSLAB_PROJECT is not empty: cloud.sh objects lists its objects, cloud.sh sweep deletes them"
cloud bake "$nodeinit" /usr/local/bin/nodeinit
LAB_IMPORTED=1 cloud guests on
export OS_CLIENT_CONFIG_FILE=$OSLAB_DIR/clouds.yaml
work=$OSLAB_DIR/demo # the working directory of the provisioner
mkdir -p "$work"
cd "$work"
[ -s id.yaml ] || printf 'apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nopenstack: {clusterID: %s}\n' "$(cat /proc/sys/kernel/random/uuid)" >id.yaml
configs+=(--config "$work/id.yaml")

say "provisioner apply"
begun=$SECONDS
"$provisioner" apply --yes "${configs[@]}"
echo "apply took $((SECONDS - begun)) s; koris, a similar tool, states 5 minutes"

say "the cluster, seen from this machine with the written kubeconfig"
kubeconfig=${LAB_KUBECONFIG:-$(find "$work" -name '*kubeconfig*' -newer "$OSLAB_DIR/image" | head -n 1)}
kubectl() { "$(bin_dir)/kubectl" --kubeconfig "$kubeconfig" "$@"; }
kubectl get nodes -o wide
kubectl get pods -A -o wide

say "the cluster, seen from OpenStack"
cloud objects

say "a second apply changes nothing"
mark=$(cloud mark)
begun=$SECONDS
"$provisioner" apply --yes "${configs[@]}"
echo "it took $((SECONDS - begun)) s and $(cloud writes "$mark" | wc -l) write requests"

say "provisioner destroy"
"$provisioner" destroy --yes "${configs[@]}"
left=$(cloud objects)
echo "remaining objects in the project: ${left:-none}"
[ -z "$left" ]
