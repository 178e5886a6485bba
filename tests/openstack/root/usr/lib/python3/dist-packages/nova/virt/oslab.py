"""Nova's fake hypervisor, which exchanges data with guests through files."""

import os
import shutil
import time

import oslab_faults
from nova import exception
from nova.api.metadata import base
from nova.compute import power_state
from nova.virt import fake

INSTANCES = "/oslab/instances"


def card(vif):
    """Returns the MAC address of a port, its first address with the prefix, and the gateway of the subnet."""
    subnet = vif["network"]["subnets"][0]
    gateway = (subnet["gateway"] or {}).get("address") or "-"
    return vif["address"], f"{subnet['ips'][0]['address']}/{subnet['cidr'].split('/')[1]}", gateway


class Driver(fake.FakeDriver):
    """Keeps the files of each server in INSTANCES/<id> until the server is deleted.

    config-drive: read by the guest; config-drive.cards: what DHCP would tell it; console.log: written by the guest; name, address, host: of the server, for guests.sh;
    power: "on", "off" or "reset" (power cut, then on), and the time, so that each order differs from the previous one.
    """

    def init_host(self, host):
        super().init_host(host)
        for uuid in os.listdir(INSTANCES):
            try:
                with open(os.path.join(INSTANCES, uuid, "host")) as file:
                    if file.read() != host:
                        continue
                with open(os.path.join(INSTANCES, uuid, "power")) as file:
                    state = power_state.SHUTDOWN if file.read().startswith("off") else power_state.RUNNING
            except FileNotFoundError:
                continue
            self.instances[uuid] = fake.FakeInstance(uuid, state, uuid)

    def spawn(self, context, instance, image_meta, injected_files, admin_password, allocations,
              network_info=None, **kwargs):
        if oslab_faults.strikes("server", instance.display_name):
            raise exception.BuildAbortException(instance_uuid=instance.uuid, reason="the lab's hypervisor was told to fail this server")
        super().spawn(context, instance, image_meta, injected_files, admin_password, allocations,
                      network_info=network_info, **kwargs)
        metadata = base.InstanceMetadata(instance, content=injected_files, network_info=network_info)
        for name, content in metadata.metadata_for_config_drive():
            self._write(instance, os.path.join("config-drive", name), content)
        cards = [card(vif) for vif in network_info or []]
        self._write(instance, "config-drive.cards", "".join(" ".join(words) + "\n" for words in cards))
        addresses = [address.split("/")[0] for _, address, _ in cards]
        self._write(instance, "name", instance.display_name)
        self._write(instance, "host", instance.host)
        self._write(instance, "address", "".join(addresses[:1]))
        self._order(instance, "on")

    def power_off(self, instance, timeout=0, retry_interval=0):
        super().power_off(instance, timeout, retry_interval)
        self._order(instance, "off")

    def power_on(self, context, instance, *args, **kwargs):
        super().power_on(context, instance, *args, **kwargs)
        self._order(instance, "on")

    def reboot(self, context, instance, network_info, reboot_type, **kwargs):
        super().power_on(context, instance, network_info)
        self._order(instance, "reset" if reboot_type == "HARD" else "on")

    def destroy(self, context, instance, *args, **kwargs):
        super().destroy(context, instance, *args, **kwargs)
        shutil.rmtree(os.path.join(INSTANCES, instance.uuid), ignore_errors=True)

    def get_console_output(self, context, instance):
        try:
            with open(os.path.join(INSTANCES, instance.uuid, "console.log"), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return b""

    def _order(self, instance, power):
        self._write(instance, "power", f"{power} {time.time_ns()}\n")

    def _write(self, instance, name, content):
        path = os.path.join(INSTANCES, instance.uuid, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".new", "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        os.rename(path + ".new", path)
