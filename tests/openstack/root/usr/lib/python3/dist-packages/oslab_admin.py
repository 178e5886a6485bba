"""The verbs of cloud.sh (see its usage) that need Python. They bypass the front door, so their requests are not counted."""

import os
import shutil
import sys
import time

import openstack
import pymysql

TENANT = os.environ["OSLAB_PROJECT"]
INSTANCES = "/oslab/instances"
QUOTAS = {
    "compute": ("instances", "cores", "ram", "server_groups", "server_group_members", "key_pairs"),
    "volume": ("volumes", "gigabytes", "snapshots"),
    "network": ("network", "subnet", "port", "router", "floatingip", "security_group", "security_group_rule"),
    "load_balancer": ("load_balancer", "listener", "pool", "member", "health_monitor"),
}


def cloud(name):
    return openstack.connect(
        auth_url="http://127.0.0.1:5000/v3", username=name, password="lab", project_name=name, user_domain_name="Default",
        project_domain_name="Default", region_name="RegionOne", interface="internal", compute_api_version="2.67",
        load_envvars=False, load_yaml_config=False)


def fail(text):
    sys.exit(f"lab: {text}")


def everything(tenant, *kinds):
    """Lists kind, id and name of the project's objects, except those of the lab, in an order in which they can be deleted."""
    mine = {"project_id": tenant.current_project_id}
    find = {
        "loadbalancer": lambda: tenant.load_balancer.load_balancers(),
        "server": lambda: tenant.compute.servers(details=False),
        "servergroup": lambda: tenant.compute.server_groups(),
        "floatingip": lambda: tenant.network.ips(**mine),
        "router": lambda: tenant.network.routers(**mine),
        "port": lambda: tenant.network.ports(**mine),
        "volume": lambda: tenant.block_storage.volumes(details=False),
        "network": lambda: tenant.network.networks(**mine),
        "subnet": lambda: tenant.network.subnets(**mine),
        "securitygroup": lambda: tenant.network.security_groups(**mine),
        "keypair": lambda: tenant.compute.keypairs(),
        "image": lambda: tenant.image.images(owner=tenant.current_project_id),
    }
    for kind in kinds or find:
        for one in find[kind]():
            if (kind, one.name) not in (("securitygroup", "default"), ("keypair", "nodeinit")):
                yield kind, one.id, (one.floating_ip_address if kind == "floatingip" else one.name) or "-"


def objects():
    for line in everything(cloud(TENANT)):
        print(*line)


def patiently(action, *arguments, **options):
    """Repeats a deletion that is refused until a dependent object is deleted."""
    for tries in range(60):
        try:
            return action(*arguments, **options)
        except (openstack.exceptions.ConflictException, openstack.exceptions.BadRequestException):
            if tries == 59:
                raise
            time.sleep(0.5)


def sweep():
    """Deletes all objects of the project in any state, and the hypervisor's files of servers that no project has."""
    tenant, admin = cloud(TENANT), cloud("admin")
    found = list(everything(tenant))
    if found:
        clear(tenant, admin, found)
    # Nova deletes a server without a hypervisor that is still starting; the guest would keep its address.
    servers = {one.id for one in admin.compute.servers(details=False, all_projects=True)}
    for id_ in set(os.listdir(INSTANCES)) - servers:
        shutil.rmtree(os.path.join(INSTANCES, id_), ignore_errors=True)


def clear(tenant, admin, found):
    database("UPDATE load_balancer SET provisioning_status='ERROR' WHERE provisioning_status LIKE 'PENDING%%'")
    for kind, id_, _ in found:
        if kind == "loadbalancer":
            patiently(tenant.load_balancer.delete_load_balancer, id_, cascade=True)
        elif kind == "server":
            tenant.compute.delete_server(id_)
        elif kind == "servergroup":
            tenant.compute.delete_server_group(id_)
        elif kind == "keypair":
            tenant.compute.delete_keypair(id_)
        elif kind == "image":
            tenant.image.delete_image(id_)
        elif kind == "floatingip":
            tenant.network.delete_ip(id_)
    until(60, lambda: not list(everything(tenant, "loadbalancer", "server")), "servers and balancers are left")
    for kind, id_, _ in found:
        if kind == "router":
            for port in tenant.network.ports(device_id=id_):
                tenant.network.remove_interface_from_router(id_, port_id=port.id)
            tenant.network.delete_router(id_)
        elif kind == "volume":
            admin.block_storage.reset_volume_status(id_, "error", "detached", "none")
            admin.block_storage.delete_volume(id_, force=True)
    for kind, delete in ("port", tenant.network.delete_port), ("network", tenant.network.delete_network), (
            "securitygroup", tenant.network.delete_security_group):
        for _, id_, _ in everything(tenant, kind):
            patiently(delete, id_)
    until(60, lambda: not list(everything(tenant)), "not all is gone")


def until(seconds, condition, complaint):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            fail(complaint)
        time.sleep(0.3)


def database(statement, *arguments):
    with pymysql.connect(unix_socket="/oslab/run/mysql.sock", user="root", database="octavia", autocommit=True) as octavia:
        with octavia.cursor() as cursor:
            return cursor.execute(statement, arguments)


def userdata():
    """Prints NAME and user-data in Base64 of each server, as stored by Nova."""
    admin = cloud("admin")
    project = admin.identity.find_project(TENANT).id
    for server in admin.compute.servers(all_projects=True):
        if server.project_id == project:
            print(server.name, "".join((server.user_data or "").split()))


def quota(*settings):
    admin = cloud("admin")
    demo = admin.identity.find_project(TENANT).id
    for setting in settings:
        if setting == "default":
            admin.delete_compute_quotas(demo)
            admin.delete_volume_quotas(demo)
            admin.network.delete_quota(demo)
            admin.load_balancer.delete_quota(demo)
            continue
        key, _, value = setting.partition("=")
        service = next((service for service, keys in QUOTAS.items() if key in keys), None)
        if not service or not value.lstrip("+-").isdigit():
            fail(f"which quota? KEY=N, KEY=+N or default; {setting} is none of: {', '.join(sum(QUOTAS.values(), ()))}")
        number = int(value) + (used(service, key, demo) if value.startswith("+") else 0)
        if service == "compute":
            admin.set_compute_quotas(demo, **{key: number})
        elif service == "volume":
            admin.set_volume_quotas(demo, **{key: number})
        elif service == "network":
            admin.network.update_quota(demo, **{f"{key}s" if key != "floatingip" else "floating_ips": number})
        else:
            admin.load_balancer.update_quota(demo, **{f"{key}s": number})


def used(service, key, project):
    """Returns the number of these objects in the project."""
    tenant = cloud(TENANT)
    if service == "compute":
        names = {"instances": "totalInstancesUsed", "cores": "totalCoresUsed", "ram": "totalRAMUsed", "server_groups": "totalServerGroupsUsed"}
        return tenant.compute.get("/limits").json()["limits"]["absolute"][names[key]]
    if service == "volume":
        volumes = list(tenant.block_storage.volumes())
        return sum(volume.size for volume in volumes) if key == "gigabytes" else len(volumes)
    if service == "network":
        plural = {"network": "networks", "subnet": "subnets", "port": "ports", "router": "routers", "floatingip": "ips",
                  "security_group": "security_groups", "security_group_rule": "security_group_rules"}[key]
        return len(list(getattr(tenant.network, plural)(project_id=project)))
    return len(list(getattr(tenant.load_balancer, f"{key}s")()))


def state(kind, name, wanted):
    """Sets the state of a server, a volume or a load balancer."""
    if kind not in ("server", "volume", "loadbalancer"):
        fail(f"the state of a {kind} cannot be set")
    found = [one for one in everything(cloud(TENANT), kind) if name in one[1:]]
    if len(found) != 1:
        fail(f"{len(found)} objects are a {kind} called {name}")
    id_, admin = found[0][1], cloud("admin")
    if kind == "server":
        admin.compute.reset_server_state(id_, wanted.lower())
    elif kind == "volume":
        admin.block_storage.reset_volume_status(id_, wanted.lower(), None, None)
    else:
        database("UPDATE load_balancer SET provisioning_status=%s WHERE id=%s", wanted.upper(), id_)


def catalogue(type_, switch):
    """Removes a service from the catalogue in tokens, or adds it again."""
    admin = cloud("admin")
    service = next((one for one in admin.identity.services() if one.type == type_), None)
    if not service or switch not in ("on", "off"):
        fail(f"catalogue TYPE on|off, of: {', '.join(one.type for one in admin.identity.services())}")
    admin.identity.update_service(service, is_enabled=switch == "on")


def disks():
    """Waits until Cinder's scheduler knows a backend: before that, a volume ends in ERROR."""
    admin = cloud("admin")
    until(180, lambda: list(admin.block_storage.backend_pools()), "Cinder's scheduler knows no place for volumes")


def strangers(cluster):
    """Creates one object of each kind for another user, with names that contain the cluster's name, and prints what must be left at the end."""
    tenant = cloud(TENANT)
    before = set(everything(tenant))
    image, flavor = tenant.image.find_image("nodeinit-image"), tenant.compute.find_flavor("nodeinit-node")
    network = tenant.network.create_network(name=f"{cluster}-network")
    subnet = tenant.network.create_subnet(name=f"{cluster}", network_id=network.id, ip_version=4, cidr="10.99.0.0/24")
    router = tenant.network.create_router(name=cluster)
    tenant.network.add_interface_to_router(router, subnet_id=subnet.id)
    group = tenant.network.create_security_group(name=cluster, description=f"not of {cluster}")
    tenant.network.create_security_group(name=f"{cluster}-masters")
    tenant.network.create_security_group_rule(security_group_id=group.id, direction="ingress", protocol="tcp", port_range_min=22,
                                              port_range_max=22)
    tenant.compute.create_server_group(name=f"{cluster}-masters", policy="soft-anti-affinity")
    tenant.compute.create_keypair(name=f"{cluster}-old")
    port = tenant.network.create_port(name=f"{cluster}-master-1", network_id=network.id, security_group_ids=[group.id])
    tenant.network.set_tags(port, [f"about-{cluster}"])
    volume = tenant.block_storage.create_volume(name=f"{cluster}-master-1", size=1, image_id=image.id, metadata={"note": cluster})
    tenant.block_storage.create_volume(name=f"backup-of-{cluster}", size=1)
    balancer = tenant.load_balancer.create_load_balancer(name=cluster, vip_subnet_id=subnet.id)
    until(60, lambda: tenant.block_storage.get_volume(volume).status == "available", "the stranger's volume is not available")
    server = tenant.compute.create_server(
        name=f"{cluster}-master-1", flavor_id=flavor.id, networks=[{"port": port.id}], metadata={"note": cluster},
        block_device_mapping=[{"boot_index": 0, "uuid": volume.id, "source_type": "volume", "destination_type": "volume"}])
    tenant.compute.wait_for_server(server, wait=60)
    until(60, lambda: tenant.load_balancer.get_load_balancer(balancer).provisioning_status == "ACTIVE", "the stranger's balancer is not ACTIVE")
    for line in everything(tenant):
        if line not in before:
            print(*line)


if __name__ == "__main__":
    verb = {one.__name__: one for one in (objects, sweep, userdata, quota, state, catalogue, disks, strangers)}[sys.argv[1]]
    try:
        verb(*sys.argv[2:])
    except openstack.exceptions.SDKException as error:
        fail(f"{sys.argv[1]}: {error}")
