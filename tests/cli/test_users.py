"""Two users on one machine: what a run opens lets nobody else stop, read or change it."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from running import EIGENWERK, ENDLESS, Run, status

pytestmark = [
    pytest.mark.ranks,
    pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user"),
]

INTRUDER = r"""
import encodings.idna, fcntl, json, os, signal, socket, sys  # nobody may be allowed to read this Python later
from pathlib import Path

folder, ports, pids = Path(sys.argv[1]), json.loads(sys.argv[2]), json.loads(sys.argv[3])
os.setgid(65534), os.setgroups([]), os.setuid(65534)
lock = folder / "eigenwerk.lock"
attempts = {
    "read the lock": lambda: lock.read_text(),
    "take the lock": lambda: fcntl.flock(os.open(lock, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB),
    "write the lock": lambda: lock.write_text("mine"),
    "remove the lock": lambda: lock.unlink(),
    "write STOPCAR": lambda: (folder / "STOPCAR").write_text("LABORT = .TRUE."),
    "change the state": lambda: os.truncate(folder / "eigenwerk.h5", 0),
}
attempts |= {f"end process {pid}": lambda pid=pid: os.kill(pid, signal.SIGTERM) for pid in pids}
attempts |= {
    f"look into {path}": lambda path=path: os.listdir(path) if os.path.isdir(path) else Path(path).read_bytes()
    for path in json.loads(sys.argv[4])
}
for name, attempt in attempts.items():
    try:
        attempt()
    except PermissionError:
        continue
    except FileNotFoundError:
        continue
    print(name)
for port in ports:
    for words in (b'{"what": "signal", "rank": 0, "number": 15}\n', b"[" * 60_000 + b"\n", b"\0" * 100_000):
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=2) as line:
                line.sendall(words)
        except OSError:
            pass
"""


def listening(pids):
    """Ports of this machine on which processes wait for connections."""
    sockets = set()
    for pid in pids:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            try:
                sockets.add(os.readlink(entry))
            except OSError:
                continue
    ports = []
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net", table).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in sockets:
                ports.append(int(words[1].rpartition(":")[2], 16))
    return ports


@pytest.mark.slow
def test_another_user_cannot_stop_read_or_change_a_run(folder):
    place = Path(tempfile.mkdtemp(prefix="seen-by-others-"))
    try:
        os.chmod(place, 0o755)
        path = place / "case"
        shutil.copytree(folder(**ENDLESS), path)
        os.chmod(path, 0o755)
        before = set(Path(tempfile.gettempdir()).glob("eigenwerk*"))
        process = Run(*EIGENWERK, "run", str(path), "--ranks", "2", "--no-plot", "--device", "cpu", "--save-every", "0")
        process.wait_for_step(2)
        pids = [process.process.pid, *process.ranks]
        made = [str(entry) for entry in set(Path(tempfile.gettempdir()).glob("eigenwerk*")) - before]
        seen = [json.dumps(words) for words in (listening(pids), pids, made)]
        command = [sys.executable, "-c", INTRUDER, str(path), *seen]
        done = subprocess.run(command, capture_output=True, text=True, cwd="/", timeout=120)
        assert (done.stdout, done.stderr) == ("", "")
        process.wait_for_step(int(process.lines[-1][:5]) + 20)
        (path / "STOPCAR").write_text("LABORT = .TRUE.")
        code, out, err = process.end(60)
        assert code == 3 and err == "", out + err
        assert status(path).endswith("LABORT = .TRUE. in STOPCAR")
    finally:
        process.process.kill()
        shutil.rmtree(place, ignore_errors=True)
