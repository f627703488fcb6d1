"""Which modules a command loads, in a process of its own."""

import json
import subprocess
import sys

SLOW_PACKAGES = {"torch", "scipy", "matplotlib", "h5py"}
"""Those that take longer to load than quick commands to answer."""


def modules_loaded_by(*words):
    """Names of all modules after `eigenwerk WORDS`, which has to succeed."""
    script = (
        "import json, sys\nfrom eigenwerk.cli.main import main\n"
        f"assert main({list(words)!r}) == 0\n"
        "print(json.dumps(list(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return set(json.loads(result.stdout.splitlines()[-1]))
