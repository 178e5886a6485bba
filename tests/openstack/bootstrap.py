"""Makes, where absent, what a tenant finds in a cloud: identities, flavor, image, networks, quota. Runs inside the root."""

import os
import sys
import time

import openstack

URL = "http://127.0.0.1"
TENANTS = ("demo", "selftest")
# Clients use the front door; services and the lab itself bypass it.
FRONT, FRONT_TLS = 10000, 20000
ENDPOINTS = {  # service type: name, port, path
    "identity": ("keystone", 5000, "/v3"),
    "placement": ("placement", 8778, ""),
    "image": ("glance", 9292, ""),
    "network": ("neutron", 9696, ""),
    "block-storage": ("cinder", 8776, "/v3"),
    "compute": ("nova", 8774, "/v2.1"),
    "load-balancer": ("octavia", 9876, ""),
}


def cloud(user, project):
    return openstack.connect(
        auth_url=f"{URL}:5000/v3", username=user, password="lab", project_name=project,
        user_domain_name="Default", project_domain_name="Default", region_name="RegionOne", interface="internal",
        load_envvars=False, load_yaml_config=False)


def project(admin, name):
    return admin.identity.find_project(name) or admin.identity.create_project(name=name, domain_id="default")


def user(admin, name, of_project, roles):
    one = admin.identity.find_user(name) or admin.identity.create_user(name=name, password="lab", domain_id="default")
    for role_name in roles:
        role = admin.identity.find_role(role_name) or admin.identity.create_role(name=role_name)
        admin.identity.assign_project_role_to_user(of_project, one, role)


def network(owner, name, cidr, dhcp, **attributes):
    one = owner.network.find_network(name) or owner.network.create_network(name=name, **attributes)
    owner.network.find_subnet(name) or owner.network.create_subnet(
        name=name, network_id=one.id, ip_version=4, cidr=cidr, enable_dhcp=dhcp)
    return one


def entry(name, user_name, project_name):
    return f"""  {name}:
    region_name: RegionOne
    auth:
      auth_url: {URL}:{5000 + FRONT}/v3
      username: {user_name}
      password: lab
      project_name: {project_name}
      user_domain_name: Default
      project_domain_name: Default
"""


def identities():
    """The users and the service catalogue."""
    admin = cloud("admin", "admin")
    if not any(region.id == "RegionTLS" for region in admin.identity.regions()):
        admin.identity.create_region(id="RegionTLS")
    user(admin, "service", project(admin, "service"), ["admin", "service"])
    for name in TENANTS:
        user(admin, name, project(admin, name), ["member", "load-balancer_member"])
    for type_, (name, port, path) in ENDPOINTS.items():
        service = admin.identity.find_service(name) or admin.identity.create_service(type=type_, name=name)
        for interface, region, url in (("internal", "RegionOne", f"{URL}:{port}"), ("public", "RegionOne", f"{URL}:{port + FRONT}"),
                                       ("public", "RegionTLS", f"https://127.0.0.1:{port + FRONT_TLS}")):
            if not list(admin.identity.endpoints(service_id=service.id, interface=interface, region_id=region)):
                admin.identity.create_endpoint(service_id=service.id, interface=interface, region_id=region, url=url + path)


def second_zone(admin):
    """Adds Nova's second host to a separate zone, after waiting until the host is in the cell."""
    zone = next((one for one in admin.compute.aggregates() if one.name == "nova-2"), None) or admin.compute.create_aggregate(
        name="nova-2", availability_zone="nova-2")
    end = time.monotonic() + 60
    while "lab-2" not in (zone.hosts or []):
        try:
            zone = admin.compute.add_host_to_aggregate(zone, "lab-2")
        except openstack.exceptions.NotFoundException:
            if time.monotonic() > end:
                raise
            time.sleep(1)


def tenant_resources():
    """Creates the shared resources of projects, and the files with the credentials of clients."""
    admin = cloud("admin", "admin")
    network(admin, "public", "198.51.100.0/24", False, is_router_external=True,
            provider_network_type="flat", provider_physical_network="public")
    flavor = admin.compute.find_flavor("nodeinit-node") or admin.compute.create_flavor(
        name="nodeinit-node", ram=4096, vcpus=2, disk=0, is_public=False)
    let_in = {access["tenant_id"] for access in admin.compute.get_flavor_access(flavor)}
    for name in TENANTS:
        if (id_ := project(admin, name).id) not in let_in:
            admin.compute.flavor_add_tenant_access(flavor, id_)
    if not admin.image.find_image("nodeinit-image"):
        admin.image.create_image(name="nodeinit-image", data=bytes(4 << 20), disk_format="raw", container_format="bare",
                                 visibility="public", min_disk=1, wait=True)

    second_zone(admin)
    tenant, other = (cloud(name, name) for name in TENANTS)
    key = tenant.compute.find_keypair("nodeinit")
    if not key:
        key = tenant.compute.create_keypair(name="nodeinit")
        with open(os.open("/oslab/nodeinit.pem", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as file:
            file.write(key.private_key)
    if not other.compute.find_keypair("nodeinit"):
        other.compute.create_keypair(name="nodeinit", public_key=tenant.compute.get_keypair("nodeinit").public_key)
    me = tenant.current_user_id
    credential = tenant.identity.find_application_credential(me, "nodeinit")
    if not credential:
        tenant.identity.create_application_credential(me, "nodeinit", secret="lab-application-credential")
        credential = tenant.identity.find_application_credential(me, "nodeinit")

    with open("/oslab/openrc", "w") as file:
        for key, value in {
                "AUTH_URL": f"{URL}:{5000 + FRONT}/v3", "IDENTITY_API_VERSION": 3, "REGION_NAME": "RegionOne", "USERNAME": "demo",
                "PASSWORD": "lab", "PROJECT_NAME": "demo", "USER_DOMAIN_NAME": "Default",
                "PROJECT_DOMAIN_NAME": "Default"}.items():
            file.write(f"export OS_{key}={value}\n")
    with open("/oslab/clouds.yaml", "w") as file:
        file.write("clouds:\n" + "".join(entry(name, name, name) for name in (*TENANTS, "admin")) + f"""  nodeinit:
    region_name: RegionOne
    auth_type: v3applicationcredential
    auth:
      auth_url: {URL}:{5000 + FRONT}/v3
      application_credential_id: {credential.id}
      application_credential_secret: lab-application-credential
""" + entry("tls", "demo", "demo").replace("RegionOne", "RegionTLS").replace(
            f"{URL}:{5000 + FRONT}", f"https://127.0.0.1:{5000 + FRONT_TLS}").replace(
                "    auth:", f"    cacert: {os.environ['OSLAB_DIR']}/ca.pem\n    auth:"))


{"identities": identities, "tenant": tenant_resources}[sys.argv[1]]()
