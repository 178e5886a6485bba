"""Asks the voting members of etcd for their health, until the file STOP exists, and prints one JSON line: how often, the least number that was
healthy, and for how many looks in a row there was no quorum at most: quorum.py STOP ETCD-ADDRESS...
The client certificate is /root/etcd.pem, with its key."""
import concurrent.futures
import http.client
import json
import pathlib
import ssl
import sys
import time
import urllib.parse

LOOKS = 0.5  # seconds from one look to the next
PATIENCE = 1  # seconds for an answer
CONTEXT = ssl.create_default_context()


def ask(address, path, body=None):
    """Returns a member's answer; None if there is none with status 200."""
    connection = http.client.HTTPSConnection(address, 2379, timeout=PATIENCE, context=CONTEXT)
    try:
        connection.request("POST" if body else "GET", path, body)
        answer = connection.getresponse()
        text = answer.read()
        return json.loads(text) if answer.status == 200 else None
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def is_healthy(address):
    # Not with a read that needs the leader: a member is healthy while the leadership moves, too.
    return ask(address, "/health?serializable=true") is not None


def voters(address):
    """Returns the addresses of the voting members; None if the member cannot confirm them with a quorum."""
    listed = ask(address, "/v3/cluster/member/list", '{"linearizable": true}')
    return listed and [urllib.parse.urlsplit(member["peerURLs"][0]).hostname for member in listed["members"] if not member.get("isLearner")]


def main():
    file, *members = sys.argv[1:]
    CONTEXT.check_hostname, CONTEXT.verify_mode = False, ssl.CERT_NONE
    CONTEXT.load_cert_chain("/root/etcd.pem")
    looks, least, without, longest = 0, len(members), 0, 0
    with concurrent.futures.ThreadPoolExecutor() as pool:
        while not pathlib.Path(file).exists():
            begin = time.monotonic()
            lists = pool.map(voters, members)
            healthy = sum(pool.map(is_healthy, members))
            looks, least = looks + 1, min(least, healthy)
            without = 0 if healthy > len(members) // 2 else without + 1
            longest = max(longest, without)
            if without:
                print(f"{time.strftime('%T')} {healthy} of the voting members {', '.join(members)} are healthy", file=sys.stderr, flush=True)
            members = next(filter(None, lists), members)
            time.sleep(max(0, begin + LOOKS - time.monotonic()))
    print(json.dumps({"looks": looks, "least": least, "without": longest}))


if __name__ == "__main__":
    main()
