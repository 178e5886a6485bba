# shellcheck shell=bash
# Paths of the cloud, and functions that run a command inside its root.
cloud=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../lab/lib.sh
. "$cloud/../lab/lib.sh"
OSLAB_DIR=${OSLAB_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/nodeinit-openstack-lab}
OSLAB_PROJECT=${OSLAB_PROJECT:-demo} # the project whose objects are listed and whose quotas are set
export OSLAB_DIR OSLAB_PROJECT
state=$OSLAB_DIR/state # database, queues, images, logs and records of the cloud; /oslab inside the root

# Debian 12 with the packages; the name contains the hash of the recipe. Every start copies the files of root/ over it.
root=$OSLAB_DIR/root-$(sha256sum <"$cloud/make-root.sh" | cut -c1-12)

# Replaces the shell by a command inside the root, in a separate mount namespace: nothing stays mounted on the machine.
exec_in_root() {
  # shellcheck disable=SC2016
  exec unshare --mount sh -c 'mount -t proc proc "$0/proc" && mount --bind "$1" "$0/oslab" && shift && exec chroot "$0" "$@"' \
    "$root" "$state" env -i HOME=/oslab OS_CLIENT_CONFIG_FILE=/oslab/clouds.yaml OSLAB_DIR="$OSLAB_DIR" OSLAB_PROJECT="$OSLAB_PROJECT" \
    LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}
in_root() { (exec_in_root "$@"); }
