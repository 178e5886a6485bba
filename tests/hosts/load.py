"""Requests the API, a Service and etcd from this host, until the file STOP exists, and prints one JSON line with what failed and the longest put:
load.py STOP ENDPOINT SERVICE [ETCD-ADDRESS...]. The client certificates are /root/api.pem and, for etcd, /root/etcd.pem, each with its key."""
import base64
import http.client
import json
import pathlib
import ssl
import statistics
import sys
import threading
import time
import urllib.error
import urllib.request

PATIENCE = 5  # seconds for the answer to a request
REQUESTS = 0.05  # seconds from one request to the next
PUTS = 0.1
MEMBER = 1  # seconds after which a put is sent to the next member
PUT = json.dumps({key: base64.b64encode(b"nodeinit-bench").decode() for key in ("key", "value")})


def tls(certificate):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.load_cert_chain(certificate)
    return context


class Requests:
    """Requests a URL at fixed times, each time on a new connection and in its own thread: a slow answer delays no other request."""

    def __init__(self, name, url, context=None):
        self.name, self.url, self.context = name, url, context
        self.all = self.failed = self.twice = 0
        self.lock = threading.Lock()

    def ask(self):
        """Returns why there was no answer with status 200; None if there was one."""
        try:
            with urllib.request.urlopen(self.url, timeout=PATIENCE, context=self.context) as answer:
                answer.read()
                return None if answer.status == 200 else f"status {answer.status}"
        except urllib.error.HTTPError as error:
            return f"{error}: {error.read(300)!r}"
        except (OSError, http.client.HTTPException) as error:
            return repr(error)

    def once(self):
        why, again = self.ask(), None
        if why:
            print(f"{time.strftime('%T')} {self.name}: {why}", file=sys.stderr, flush=True)
            time.sleep(1)
            again = self.ask()
        with self.lock:
            self.all, self.failed, self.twice = self.all + 1, self.failed + bool(why), self.twice + bool(again)

    def run(self, stop):
        threads, at = [], time.monotonic()
        while not stop.is_set():
            threads.append(threading.Thread(target=self.once))
            threads[-1].start()
            at += REQUESTS
            time.sleep(max(0, at - time.monotonic()))
        for thread in threads:
            thread.join()

    def result(self):
        return {"all": self.all, "failed": self.failed, "twice": self.twice}


class Puts:
    """Writes a key to etcd, one put after the other, through one member until it does not answer, then through the next one."""

    def __init__(self, addresses, context):
        self.addresses, self.context = addresses, context
        self.connection, self.seconds = None, []

    def once(self):
        begin = time.monotonic()
        while not self.acknowledged():
            self.connection = None
            self.addresses.append(self.addresses.pop(0))
            time.sleep(0.01)
        self.seconds.append(time.monotonic() - begin)
        if self.seconds[-1] > 1:
            print(f"{time.strftime('%T')} etcd: a put took {self.seconds[-1]:.2f} s", file=sys.stderr, flush=True)

    def acknowledged(self):
        try:
            self.connection = self.connection or http.client.HTTPSConnection(self.addresses[0], 2379, timeout=MEMBER, context=self.context)
            self.connection.request("POST", "/v3/kv/put", PUT)
            answer = self.connection.getresponse()
            answer.read()
            return answer.status == 200
        except (OSError, http.client.HTTPException):
            return False

    def run(self, stop):
        at = time.monotonic()
        while not stop.is_set():
            self.once()
            at = max(at + PUTS, time.monotonic())
            time.sleep(max(0, at - time.monotonic()))

    def result(self):
        return {"all": len(self.seconds), "median": statistics.median(self.seconds), "longest": max(self.seconds)}


def main():
    file, endpoint, service, *members = sys.argv[1:]
    clients = {
        "api": Requests("api", f"https://{endpoint}/api/v1/namespaces/default", tls("/root/api.pem")),
        "workload": Requests("workload", f"http://{service}"),
    }
    if members:
        clients["etcd"] = Puts(members, tls("/root/etcd.pem"))
    stop = threading.Event()
    threads = [threading.Thread(target=client.run, args=(stop,)) for client in clients.values()]
    for thread in threads:
        thread.start()
    while not pathlib.Path(file).exists():
        time.sleep(0.1)
    stop.set()
    for thread in threads:
        thread.join()
    print(json.dumps({name: client.result() for name, client in clients.items()}))


if __name__ == "__main__":
    main()
