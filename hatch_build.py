"""Build hook of the wheel: lays Towpath out with `xtask dist` and maps every file to its place in the environment.

A wheel holds no symlinks, so a link becomes a copy of what it points to. The platform tag says which glibc the files need; with
TOWPATH_WHEEL_FROM an existing layout is taken instead of building one.
"""

import os
import re
import subprocess
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

OLDEST_GLIBC = 28


def newest_glibc(files):
    """The highest minor version of glibc's symbols that any of the files asks for."""
    minors = [0]
    for path in files:
        content = path.read_bytes()
        if content.startswith(b"\x7fELF"):
            minors += [int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", content)]
    return max(minors)


class LayOut(BuildHookInterface):
    """Fills the wheel's data and scripts folders."""

    def initialize(self, version, build_data):
        prefix = os.environ.get("TOWPATH_WHEEL_FROM")
        if prefix is None:
            self._folder = tempfile.TemporaryDirectory(prefix="towpath-wheel-")
            prefix = self._folder.name
            cargo = os.environ.get("CARGO", "cargo")
            subprocess.run([cargo, "run", "-q", "-p", "xtask", "--", "dist", "--prefix", prefix], cwd=self.root, check=True)
        prefix = Path(prefix)
        files = [path for path in sorted(prefix.rglob("*")) if path.is_file()]
        if not any(path.name == "libmpi.so.12" for path in files):
            raise RuntimeError(f"{prefix} holds no libmpi.so.12: `xtask dist` did not finish")
        for path in files:
            place = path.relative_to(prefix).as_posix()
            if place.startswith("bin/"):
                build_data["shared_scripts"][str(path.resolve())] = place.removeprefix("bin/")
            else:
                build_data["shared_data"][str(path.resolve())] = place
        minor = newest_glibc(files)
        platform = "manylinux_2_28_x86_64" if minor <= OLDEST_GLIBC else "linux_x86_64"
        if minor > OLDEST_GLIBC:
            self.app.display_info(f"built on a system whose files need glibc 2.{minor}: the wheel is for this machine only")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
