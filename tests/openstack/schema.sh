#!/bin/sh
# Creates the keys, the database schemas and the identities of the services; runs inside the root, once per cloud.
for name in keystone placement glance neutron cinder nova nova_api nova_cell0 octavia; do
  mariadb --no-defaults --socket=/oslab/run/mysql.sock -e "CREATE DATABASE IF NOT EXISTS $name CHARACTER SET utf8"
done
identity() {
  keystone-manage fernet_setup --keystone-user root --keystone-group root
  keystone-manage credential_setup --keystone-user root --keystone-group root
  keystone-manage db_sync
  url=http://127.0.0.1:5000/v3
  keystone-manage bootstrap --bootstrap-password lab --bootstrap-region-id RegionOne \
    --bootstrap-admin-url $url --bootstrap-internal-url $url --bootstrap-public-url http://127.0.0.1:15000/v3
}
compute() {
  nova-manage api_db sync
  nova-manage cell_v2 map_cell0
  nova-manage db sync
  nova-manage cell_v2 create_cell --name cell1 --verbose
}
certificates() {
  openssl req -x509 -newkey rsa:2048 -days 3650 -subj /CN=octavia -passout pass:lab -keyout /oslab/octavia/ca.key -out /oslab/octavia/ca.pem
}
# Fails if a background job failed.
pids=
for job in identity compute certificates 'placement-manage db sync' 'glance-manage db_sync' \
  'neutron-db-manage --config-file /etc/neutron/neutron.conf upgrade heads' 'cinder-manage db sync' 'octavia-db-manage upgrade head'; do
  (set -e; $job) </dev/null & pids="$pids $!"
done
for pid in $pids; do wait "$pid"; done
