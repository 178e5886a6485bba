"""Reads lines of MAC address, address with prefix, and gateway, and prints a drop-in of lab-network.service that configures the cards."""

import sys

SSH = "10.77.0.2"  # the lab's own SSH connects from here, past the routes of the networks
IP = "ExecStart=/sbin/ip"

cards = {f"host{number}": line.split() for number, line in enumerate(sys.stdin)}
own = {address.split("/")[0] for _, address, _ in cards.values()}
redirects = " ".join(f"net.ipv4.conf.{card}.accept_redirects=0" for card in ["all", *cards])
print("[Unit]\nBefore=cloud-init-local.service\n[Service]\nExecStart=")
# All networks share one bridge: the machine, which stands for the router, would send redirects, and every card would answer for all addresses.
print(f"ExecStart=/sbin/sysctl -qw {redirects} net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2")
print(f"{IP} link set lo up")
for card, (mac, address, _) in cards.items():
    print(f"{IP} link set {card} address {mac}")
    print(f"{IP} link set {card} up")
    print(f"{IP} address replace {address} dev {card}")
print(f"{IP} route replace {SSH} dev host0")
for _, _, gateway in cards.values():
    if gateway not in {"-", *own}:  # a server that is the gateway does not route to itself
        print(f"{IP} route replace default via {gateway}")
