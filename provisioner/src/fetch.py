"""Puts nodeinit in place: fetched from the first mirror that has it, checked, whole or not at all."""
import hashlib, os, sys, time, urllib.request

URLS, SHA256, PATH, SECONDS = @URLS@, "@SHA256@", "/usr/local/bin/nodeinit", 900


def digest(path):
    return hashlib.sha256(open(path, "rb").read()).hexdigest() if os.path.exists(path) else ""


def fetch(url, part):
    have = os.path.getsize(part) if os.path.exists(part) else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    with urllib.request.urlopen(request, timeout=30) as answer, open(part, "ab" if answer.status == 206 else "wb") as file:
        while piece := answer.read(1 << 16):
            file.write(piece)
        os.fsync(file.fileno())


end, part = time.monotonic() + SECONDS, PATH + ".part"
while digest(PATH) != SHA256:
    for url in URLS:
        try:
            fetch(url, part)
            got = digest(part)
            if got == SHA256:
                os.chmod(part, 0o755)
                os.rename(part, PATH)
                break
            print(f"nodeinit: {url} has the SHA-256 {got}, not {SHA256}: not used", file=sys.stderr)
            os.remove(part)
        except OSError as error:
            if getattr(error, "code", 0) == 416:  # what is there is as long as the whole, and wrong
                os.remove(part)
            print(f"nodeinit: {url}: {error}", file=sys.stderr)
    else:
        if time.monotonic() > end:
            sys.exit(f"nodeinit: no mirror had it within {SECONDS} s: {', '.join(URLS)}")
        time.sleep(5)
print("nodeinit: the program is in place")
