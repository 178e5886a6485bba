"""Reads a configuration drive's network_data.json, and prints a drop-in of lab-network.service that configures the cards as DHCP would."""

import ipaddress
import json
import sys

SSH = "10.77.0.2"  # the lab's own SSH connects from here, past the routes of the networks
IP = "ExecStart=/sbin/ip"

data = json.load(sys.stdin)
cards = {link["id"]: f"host{number}" for number, link in enumerate(data["links"])}
own = {network["ip_address"] for network in data["networks"]}
redirects = " ".join(f"net.ipv4.conf.{card}.accept_redirects=0" for card in ["all", *cards.values()])
print("[Unit]\nBefore=cloud-init-local.service\n[Service]\nExecStart=")
# All networks share one bridge: the machine, which stands for the router, would send redirects, and every card would answer for all addresses.
print(f"ExecStart=/sbin/sysctl -qw {redirects} net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2")
print(f"{IP} link set lo up")
for link in data["links"]:
    print(f"{IP} link set {cards[link['id']]} address {link['ethernet_mac_address']}")
    print(f"{IP} link set {cards[link['id']]} up")
for network in data["networks"]:
    prefix = ipaddress.ip_network(f"0.0.0.0/{network['netmask']}").prefixlen
    print(f"{IP} address replace {network['ip_address']}/{prefix} dev {cards[network['link']]}")
print(f"{IP} route replace {SSH} dev host0")
for network in data["networks"]:
    for route in network.get("routes", []):
        # A gateway does not route to itself.
        if route["network"] == "0.0.0.0" and route["gateway"] not in own:
            print(f"{IP} route replace default via {route['gateway']}")
