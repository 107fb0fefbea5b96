"""A bad piece of network: what comes to its station goes on to its destination, late by DELAY and up to JITTER milliseconds, in
the order in which it is due; a part of it, LOSS, does not. relay.py STATION DELAY JITTER LOSS: prints the name of its port,
waits for a line, says where it is, and relays until it is killed."""

import fcntl
import heapq
import os
import random
import select
import struct
import sys
import time

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
IPV4 = b"\x08\x00"
# More than this is what a full queue of a device drops.
MOST = 20_000


def main():
    station = bytes.fromhex(sys.argv[1].replace(":", ""))
    delay, jitter, loss = float(sys.argv[2]) / 1e3, float(sys.argv[3]) / 1e3, float(sys.argv[4])
    port = os.open("/dev/net/tun", os.O_RDWR)
    name = fcntl.ioctl(port, TUNSETIFF, struct.pack("16sH22x", b"relay%d", IFF_TAP | IFF_NO_PI))
    print(name[:16].rstrip(b"\0").decode(), flush=True)
    sys.stdin.readline()
    # A frame of a kind that nobody takes tells the bridge which port this station is at.
    os.write(port, b"\xff" * 6 + station + b"\x88\xb5" + bytes(46))
    os.set_blocking(port, False)
    print("here", flush=True)
    waiting, number = [], 0
    while True:
        timeout = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        if select.select([port], [], [], timeout)[0]:
            try:
                frame = os.read(port, 65536)
            except BlockingIOError:
                continue
            if frame[:6] == station and frame[12:14] == IPV4 and random.random() >= loss and len(waiting) < MOST:
                # The station of an address is made of the address.
                frame = b"\x02\x00" + frame[30:34] + station + frame[12:]
                number += 1
                heapq.heappush(waiting, (time.monotonic() + delay + random.random() * jitter, number, frame))
        while waiting and waiting[0][0] <= time.monotonic():
            frame = heapq.heappop(waiting)[2]
            try:
                os.write(port, frame)
            except OSError:
                # The port is going, or its queue is full: a network loses packets.
                pass


main()
