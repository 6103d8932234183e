"""deploy/local/system.sh installs what is missing when it may, and else names it with the fix."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "deploy" / "local" / "system.sh"
PROGRAMS = ("java", "mvn", "redis-server")


def run(folder: Path, present: tuple[str, ...], uid: int) -> subprocess.CompletedProcess[str]:
    """Run the script on a machine that has only ``present``, and an apt-get that writes down what it is asked."""
    stubs = {
        "id": f"echo {uid}",
        "apt-get": f'echo "$DEBIAN_FRONTEND $*" >> {folder}/asked',
        **dict.fromkeys(present, "true"),
    }
    for name, body in stubs.items():
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)
    env = {"PATH": str(folder), "PYTHON": sys.executable, "HOME": os.environ["HOME"]}
    return subprocess.run(["/bin/sh", str(SCRIPT)], env=env, capture_output=True, text=True)


def test_whole_machine_is_left_alone(tmp_path: Path) -> None:
    done = run(tmp_path, PROGRAMS, uid=0)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (tmp_path / "asked").exists()


def test_root_gets_what_is_missing_and_no_more(tmp_path: Path) -> None:
    assert run(tmp_path, ("java",), uid=0).returncode == 0
    assert (tmp_path / "asked").read_text().splitlines() == [
        "noninteractive update -qq",
        "noninteractive install -y -qq --no-install-recommends maven redis-server",
    ]


def test_others_are_told_what_to_install(tmp_path: Path) -> None:
    done = run(tmp_path, ("mvn",), uid=1000)
    assert done.returncode == 1
    assert "missing: default-jre-headless redis-server\n" in done.stderr
    assert "sudo apt-get install -y default-jre-headless redis-server" in done.stderr
    assert not (tmp_path / "asked").exists()
