#!/usr/bin/env python3
"""Counts the requests of `provisioner` to a cloud as a cluster grows: requests.py NODEINIT PROVISIONER [WORKERS...].

For each number of workers (2, 10, 30 and 100 if none are given): `apply --resources-only` from an empty project on the cloud of tests/openstack,
`plan` and a second `apply` of the existing cluster, `destroy`. Servers are created and do not boot. The front door of the cloud counts.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import uuid

HERE = pathlib.Path(__file__).resolve().parent
CLOUD = HERE.parent / "openstack/cloud.sh"
LAYERS = [HERE.parent.parent / "docs/examples/openstack.yaml", HERE.parent / "lab/cluster.yaml", HERE.parent / "openstack/cluster.yaml"]
CLUSTER_ID = uuid.uuid4()
# A subnet for this many machines; nothing boots, so no host needs one of these addresses.
NETWORK = """\
  network:
    create: {cidr: 10.79.0.0/16, gateway: 10.79.0.1, firstAddress: 10.79.1.1, lastAddress: 10.79.1.254}
"""


def cloud(*arguments):
    return subprocess.run([CLOUD, *arguments], check=True, capture_output=True, text=True).stdout


def machines(workers):
    masters = "".join(f"- {{name: master-{n}, address: 10.79.0.1{n}}}\n" for n in (1, 2, 3))
    each = "".join(f"- {{name: worker-{n}, address: 10.79.2.{n}}}\n" for n in range(1, workers + 1))
    return f"apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nname: requests\nmasters:\n{masters}workers:\n{each}openstack:\n  clusterID: {CLUSTER_ID}\n{NETWORK}"


def run(command, work):
    """Returns the seconds, and the requests at the front end by method."""
    mark = cloud("mark").strip()
    started = time.monotonic()
    ended = subprocess.run(command, cwd=work, capture_output=True, text=True)
    seconds = time.monotonic() - started
    if ended.returncode not in (0, 2):
        sys.exit(f"{' '.join(map(str, command))} ended with {ended.returncode}:\n{ended.stdout[-4000:]}\n{ended.stderr[-4000:]}")
    calls = [line.split() for line in cloud("calls", mark).splitlines()]
    events = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    counts = next(({"reads": event["reads"], "writes": event["writes"]} for event in events if event.get("event") == "requests"), None)
    if counts is None or counts["reads"] + counts["writes"] > len(calls):
        sys.exit(f"the front door saw {len(calls)} requests, and provisioner tells of {counts}")
    writes = [call for call in calls if call[2] != "GET" and not call[3].endswith("/auth/tokens")]
    return {"seconds": seconds, "reads": sum(call[2] == "GET" for call in calls), "writes": len(writes)}


def main():
    nodeinit, provisioner = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    numbers = [int(word) for word in sys.argv[3:]] or [2, 10, 30, 100]
    cloud("up")
    cloud("heal")
    cloud("sweep")
    cloud("quota", *(f"{what}=-1" for what in ("instances", "cores", "ram", "server_group_members", "port", "security_group_rule", "volumes", "gigabytes")))
    directory = pathlib.Path(os.environ.get("OSLAB_DIR") or pathlib.Path.home() / ".cache/nodeinit-openstack-lab")
    os.environ["OS_CLIENT_CONFIG_FILE"] = str(directory / "clouds.yaml")
    rows = []
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([nodeinit, "secrets", "generate", "--file", f"{work}/secrets.yaml"], check=True, stdout=subprocess.DEVNULL)
        for workers in numbers:
            (pathlib.Path(work) / "machines.yaml").write_text(machines(workers))
            layers = [word for layer in [*LAYERS, "machines.yaml"] for word in ("--config", str(layer))]
            command = lambda *words: [provisioner, *words, "--output", "json", *layers]
            row = {"workers": workers}
            for name, words in (("apply", ["apply", "--yes", "--resources-only"]), ("plan", ["plan"]), ("again", ["apply", "--yes", "--resources-only"]), ("destroy", ["destroy", "--yes"])):
                row[name] = run(command(*words), work)
            rows.append(row)
            each = ", ".join(f"{name} {row[name]['reads']} + {row[name]['writes']} in {row[name]['seconds']:.1f} s" for name in ("apply", "plan", "again", "destroy"))
            print(f"{workers:4} workers: {each} (reading + writing requests)", flush=True)
    cloud("quota", "default")
    first, last = rows[0], rows[-1]
    if len(rows) > 1:
        more = last["workers"] - first["workers"]
        grows = lambda name, what: (last[name][what] - first[name][what]) / more
        print(f"each further worker: apply {grows('apply', 'writes'):.2f} writing and {grows('apply', 'reads'):.2f} reading requests, "
              f"plan {grows('plan', 'reads'):.2f}, destroy {grows('destroy', 'writes'):.2f} writing")
    print(f"plan with {last['workers']} existing workers: {last['plan']['seconds']:.1f} s")


if __name__ == "__main__":
    main()
