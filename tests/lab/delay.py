#!/usr/bin/env python3
"""Forwards Ethernet frames between two network interfaces. Delays frames from the first one by MILLISECONDS."""

import collections
import socket
import sys
import threading
import time

SOL_PACKET, PACKET_VNET_HDR, ETH_P_ALL = 263, 15, 3
LONGEST_FRAME = 70_000


def interface(name):
    """A socket for whole frames, including the header with the checksum and segmentation that the kernel still has to do."""
    card = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    card.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    card.bind((name, 0))
    return card


def frames(card):
    while True:
        frame, (_, _, kind, *_) = card.recvfrom(LONGEST_FRAME)
        if kind != socket.PACKET_OUTGOING:
            yield frame


def send(card, frame):
    try:
        card.send(frame)
    except OSError:
        pass  # a frame may be lost, as on any network


def delay(source, target, seconds):
    waiting, arrived = collections.deque(), threading.Semaphore(0)

    def forward():
        while True:
            arrived.acquire()
            due, frame = waiting.popleft()
            time.sleep(max(0, due - time.monotonic()))
            send(target, frame)

    threading.Thread(target=forward, daemon=True).start()
    for frame in frames(source):
        waiting.append((time.monotonic() + seconds, frame))
        arrived.release()


def main(name, bridge, milliseconds):
    card, other = interface(name), interface(bridge)
    threading.Thread(target=delay, args=(card, other, int(milliseconds) / 1000), daemon=True).start()
    for frame in frames(other):
        send(card, frame)


main(*sys.argv[1:])
