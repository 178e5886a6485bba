"""Cinder volumes as sparse files with the content of the image; attaching a volume does nothing."""

import os

import oslab_faults
from cinder import exception
from cinder.tests import fake_driver

VOLUMES = "/oslab/cinder/volumes"


class Files(fake_driver.FakeLoggingVolumeDriver):
    """Keeps each volume at VOLUMES/volume-<id>."""

    def local_path(self, volume, vg=None):
        return os.path.join(VOLUMES, volume["name"])

    def create_volume(self, volume):
        if oslab_faults.strikes("volume", volume["display_name"]):
            raise exception.VolumeBackendAPIException(data="the lab's disks were told to fail this volume")
        os.makedirs(VOLUMES, exist_ok=True)
        with open(self.local_path(volume), "wb") as file:
            file.truncate(volume["size"] << 30)

    def extend_volume(self, volume, new_size):
        os.truncate(self.local_path(volume), new_size << 30)

    def delete_volume(self, volume):
        if os.path.exists(self.local_path(volume)):
            os.remove(self.local_path(volume))
