"""What was measured on."""

import datetime
import os
import platform
import re
import subprocess
from pathlib import Path


def cpu():
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    found = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    return found[1] if found else platform.machine()


def system():
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.system()


def compiler(build):
    """What was built with in this folder."""
    cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    path = re.search(r"^CMAKE_CXX_COMPILER:[A-Z]+=(.*)$", cache, re.MULTILINE)[1]
    version = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    return version.split("\n")[0]


def commit():
    """The state of the sources, where they are under git."""
    asked = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True,
                           check=False, cwd=Path(__file__).parent)
    return asked.stdout.strip()


def machine(versions, build):
    """build: where ropewalk was built."""
    return {"cpu": cpu(), "cores": os.cpu_count(), "os": f"{system()}, Linux {platform.release()}",
            "compiler": compiler(build), "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
            "commit": commit(),
            "versions": {"python": platform.python_version(), **versions}}
