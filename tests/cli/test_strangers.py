"""Another user of the machine cannot stop, read or change a run of several ranks."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from running import EIGENWERK, ENDLESS, Run

ATTACK = r"""
import os, signal, socket, sys

"x".encode("idna")  # what sockets need is loaded while its files can be read
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)  # nobody
numbers, user, folders = [int(word) for word in sys.argv[1].split(",")], sys.argv[2], sys.argv[3:]
done = []

def allowed(what, attempt):
    try:
        attempt()
        done.append(what)
    except OSError:
        pass

for number in numbers:
    allowed("kill", lambda: os.kill(number, signal.SIGTERM))
    for name in ("environ", "mem", "fd", "cwd"):
        path = f"/proc/{number}/{name}"
        allowed(name, lambda: os.listdir(path) if name in ("fd", "cwd") else open(path, "rb").read(1))
for folder in folders:
    allowed("write " + folder, lambda: open(folder + "/STOPCAR", "w").close())
    for name in os.listdir(folder) if os.access(folder, os.R_OK) else ():
        allowed("change " + name, lambda: open(os.path.join(folder, name), "r+b").close())
        allowed("remove " + name, lambda: os.unlink(os.path.join(folder, name)))
for line in [*open("/proc/net/tcp"), *open("/proc/net/tcp6")]:
    words = line.split()
    if words[3] != "0A" or words[7] != user:
        continue
    address, port = words[1].split(":")
    for said in (b"", b"[" * 60_000 + b"\n", b'{"what": "signal", "rank": 1, "number": 15}\n', os.urandom(5000)):
        allowed("nothing", lambda: socket.create_connection(("127.0.0.1", int(port, 16)), 2).sendall(said))
        done and done[-1] == "nothing" and done.pop()
    print("called", int(port, 16))
print("done", done)
"""


@pytest.mark.slow
@pytest.mark.ci
@pytest.mark.ranks
def test_another_user_cannot_stop_read_or_change_a_run(folder):
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    path = folder(**ENDLESS)
    with tempfile.TemporaryDirectory() as open_to_all:  # unlike the folders of pytest
        os.chmod(open_to_all, 0o755)
        output = Path(open_to_all) / "output"
        words = ["run", path, "--output", output, "--ranks", "2", "--device", "cpu", "--no-plot", "--save-every", "0"]
        run = Run(*EIGENWERK, *map(str, words))
        run.wait_for_step(2)
        meetings = [str(one) for one in Path(tempfile.gettempdir()).glob("eigenwerk-*") if one.is_dir()]
        numbers = ",".join(str(number) for number in run.ranks)
        attack = subprocess.run(
            [sys.executable, "-c", ATTACK, numbers, "0", str(output), *meetings],
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert attack.returncode == 0 and attack.stdout.splitlines()[-1] == "done []", attack
        assert attack.stdout.count("called") >= 1, "the watchdog listens"
        run.wait_for_step(6)
        run.process.send_signal(signal.SIGTERM)
        code, _, error = run.end()
        assert code == 128 + signal.SIGTERM and "Traceback" not in error
        assert (output / "vasprun.xml").is_file()
