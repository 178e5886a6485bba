#!/usr/bin/env python3
"""Answers NTP requests on loopback with this machine's clock: time-server.py PORT"""
import socket
import struct
import sys
import time

SINCE_1900 = 2208988800
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", int(sys.argv[1])))
while True:
    request, client = server.recvfrom(512)
    if len(request) < 48:
        continue
    now = int((time.time() + SINCE_1900) * 2**32)
    # RFC 5905, section 7.3: version 4, mode 4 (server), stratum 1, precision of a microsecond.
    head = struct.pack(">BBbb8x4s", 0b00_100_100, 1, 4, -20, b"LOCL")
    server.sendto(head + struct.pack(">Q8sQQ", now, request[40:48], now, now), client)
