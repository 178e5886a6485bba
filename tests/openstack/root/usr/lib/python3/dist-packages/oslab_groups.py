"""Security groups and port security as nftables rules, created from Neutron's database.

Frames between guests pass the forward hook of the machine (br_netfilter); packets from the machine pass the output hook. Only IPv4 is supported.
"""

import collections
import pathlib
import socket

LAB = "10.77.0.2"  # the source of the lab's SSH, which no group blocks
PORTS = """SELECT id, device_id, ip_address FROM neutron.ports JOIN neutron.ipallocations ON id=port_id
           JOIN neutron.portsecuritybindings USING (port_id) WHERE device_owner LIKE 'compute:%' AND port_security_enabled ORDER BY id"""
NAMED = {"tcp", "udp", "sctp", "dccp", "udplite"}


def rows(cursor, query):
    cursor.execute(query)
    return cursor.fetchall()


def match(rule, addresses_of):
    """Returns a rule of a group in the syntax of nftables, or None if it cannot match any packet."""
    far = "saddr" if rule["direction"] == "ingress" else "daddr"
    parts = []
    if rule["remote_group_id"]:
        members = sorted(addresses_of[rule["remote_group_id"]])
        if not members:
            return None
        parts.append(f"ip {far} {{ {', '.join(members)} }}")
    elif rule["remote_ip_prefix"] and not rule["remote_ip_prefix"].endswith("/0"):
        parts.append(f"ip {far} {rule['remote_ip_prefix']}")
    protocol, low, high = rule["protocol"], rule["port_range_min"], rule["port_range_max"]
    protocol = {"6": "tcp", "17": "udp", "1": "icmp", "0": None, "any": None}.get(protocol, protocol)
    if protocol in NAMED and low is not None:
        parts.append(f"{protocol} dport {low}-{high}" if high not in (None, low) else f"{protocol} dport {low}")
    elif protocol == "icmp" and low is not None:
        parts.append(f"icmp type {low}" + (f" icmp code {high}" if high is not None else ""))
    elif protocol:
        parts.append(f"ip protocol {protocol}")
    return " ".join([*parts, "accept"])


def chain(name, lines):
    return f"  chain {name} {{\n" + "".join(f"    {line}\n" for line in lines) + "  }\n"


def base(hook, priority, direction, map_):
    """Returns the base chain of one direction, which selects the groups by the address of the guest."""
    address = "daddr" if direction == "ingress" else "saddr"
    lines = [f"type filter hook {hook} priority {priority};", f"ip saddr {LAB} accept", f"ip daddr {LAB} accept",
             "ct state established,related accept"]
    if map_:
        lines.append(f"ip {address} vmap {{ {', '.join(map_)} }}")
    return chain(f"{hook}-{direction}", lines)


def is_first(port):
    """Whether the port is the first one of its server; Nova writes the address of that one."""
    try:
        return pathlib.Path("/oslab/instances", port["device_id"], "address").read_text() == port["ip_address"]
    except OSError:
        return True


def guards(ports, own):
    """Returns the rules of port security: a guest may send only from its port's address and the port's allowed pairs."""
    text = ""
    for port in ports:
        card = f"{'vb' if is_first(port) else 'v2'}-vm-{port['device_id'][:8]}"
        try:
            index = socket.if_nametoindex(card)
        except OSError:
            continue
        allowed = ", ".join(["0.0.0.0", *sorted(own[port["id"]])])
        # The index identifies the interface: a new interface needs a new chain.
        text += chain(f"card-{index}", [f'type filter hook ingress device "{card}" priority 0;',
                                        f"ether type ip ip saddr != {{ {allowed} }} counter drop",
                                        f"ether type arp arp saddr ip != {{ {allowed} }} counter drop"])
    return text


def rules(cursor):
    """Returns both tables."""
    ports = rows(cursor, PORTS)
    own, groups_of, addresses_of = (collections.defaultdict(set) for _ in range(3))
    for port in ports:
        own[port["id"]].add(port["ip_address"])
    for pair in rows(cursor, "SELECT port_id, ip_address FROM neutron.allowedaddresspairs"):
        if pair["port_id"] in own and ":" not in pair["ip_address"]:
            own[pair["port_id"]].add(pair["ip_address"])
    for binding in rows(cursor, "SELECT port_id, security_group_id, ip_address FROM neutron.securitygroupportbindings "
                                "JOIN neutron.ipallocations USING (port_id)"):
        addresses_of[binding["security_group_id"]] |= {binding["ip_address"]} | own.get(binding["port_id"], set())
        for address in own.get(binding["port_id"], ()):
            groups_of[address].add(binding["security_group_id"])
    guarded = sorted(set().union(*own.values())) if own else []

    lines = collections.defaultdict(list)
    for rule in rows(cursor, "SELECT * FROM neutron.securitygrouprules WHERE ethertype='IPv4' ORDER BY id"):
        lines[rule["security_group_id"], rule["direction"]].append(match(rule, addresses_of))
    text, maps = "", {"ingress": [], "egress": []}
    for direction, map_ in maps.items():
        for group in sorted(set().union(*groups_of.values())) if groups_of else ():
            text += chain(f"{direction}-{group}", filter(None, lines[group, direction]))
        for address in guarded:
            if "/" in address:  # a pair may be a whole network; its packets are let through
                continue
            name = f"{direction}-{address}"
            text += chain(name, [*(f"jump {direction}-{group}" for group in sorted(groups_of[address])), "counter drop"])
            map_.append(f"{address} : jump {name}")
    text += base("forward", 10, "egress", maps["egress"]) + base("forward", 11, "ingress", maps["ingress"])
    text += base("input", 10, "egress", maps["egress"]) + base("output", 10, "ingress", maps["ingress"])
    return f"{NOTHING}table ip oslab-groups {{\n{text}}}\ntable netdev oslab-ports {{\n{guards(ports, own)}}}\n"


NOTHING = """add table ip oslab-groups
delete table ip oslab-groups
add table netdev oslab-ports
delete table netdev oslab-ports
"""
