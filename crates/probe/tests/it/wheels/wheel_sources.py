"""Puts the Python sources of one release of a distribution into a folder, without taking the whole of its wheel.

Run as `python wheel_sources.py DISTRIBUTION VERSION FOLDER PREFIX...`: pip says where the wheel is, and of the archive only the blocks
that hold sources below the prefixes are read. The folder appears once it is complete, with the metadata that names the release.
"""

import io
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
import zipfile

BLOCK = 1 << 20
TRIES = 4


class Remote(io.RawIOBase):
    """A file behind a URL, read in blocks that are kept."""

    def __init__(self, url):
        self.url = url
        self.at = 0
        self.blocks = {}
        self.size = self._size()

    def _ask(self, **headers):
        for left in reversed(range(TRIES)):
            try:
                with urllib.request.urlopen(urllib.request.Request(self.url, headers=headers), timeout=120) as answer:
                    return answer.status, answer.headers, answer.read()
            except OSError:
                if not left:
                    raise
                time.sleep(1)

    def _size(self):
        status, headers, _ = self._ask(Range="bytes=0-0")
        if status != 206:
            raise SystemExit("%s does not answer for a range" % self.url)
        return int(headers["Content-Range"].rpartition("/")[2])

    def _block(self, number):
        if number not in self.blocks:
            start = number * BLOCK
            _, _, data = self._ask(Range="bytes=%d-%d" % (start, min(start + BLOCK, self.size) - 1))
            self.blocks[number] = data
        return self.blocks[number]

    def readable(self):
        return True

    def seekable(self):
        return True

    def tell(self):
        return self.at

    def seek(self, offset, whence=io.SEEK_SET):
        self.at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.at, io.SEEK_END: self.size}[whence]
        return self.at

    def readinto(self, buffer):
        within = self.at % BLOCK
        data = self._block(self.at // BLOCK)[within : within + len(buffer)] if self.at < self.size else b""
        buffer[: len(data)] = data
        self.at += len(data)
        return len(data)


def wheel_of(distribution, version):
    """The URL of the wheel that pip would install on a machine with a recent Python."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--no-deps", "--ignore-installed", "--report", "-",
            "--only-binary", ":all:", "--python-version", "3.12", "--target", folder, "%s==%s" % (distribution, version),
        ]  # fmt: skip
        report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return report["install"][0]["download_info"]["url"]


def wanted(name, prefixes):
    """Tells whether a member of the archive is a source below a prefix, or says which release this is."""
    return name.endswith(".dist-info/METADATA") or (name.endswith(".py") and name.startswith(tuple(prefixes)))


def main(distribution, version, folder, *prefixes):
    """Takes the sources into a folder beside the one asked for, and gives it its name at the end."""
    remote = Remote(wheel_of(distribution, version))
    archive = zipfile.ZipFile(io.BufferedReader(remote, BLOCK))
    os.makedirs(os.path.dirname(os.path.abspath(folder)), exist_ok=True)
    partial = tempfile.mkdtemp(dir=os.path.dirname(os.path.abspath(folder)))
    members = [item for item in archive.infolist() if wanted(item.filename, prefixes)]
    for item in sorted(members, key=lambda item: item.header_offset):
        archive.extract(item, partial)
    os.chmod(partial, 0o755)
    os.rename(partial, folder)
    print("%d files, %d of %d MiB" % (len(members), len(remote.blocks) * BLOCK >> 20, remote.size >> 20))


if __name__ == "__main__":
    main(*sys.argv[1:])
