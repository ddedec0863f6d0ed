"""Build hook of the wheel: lays Towpath out with `xtask dist` and maps every file to its place in the environment.

Debugging information stays outside the wheel. A wheel holds no symlinks, so a link becomes a copy of what it points to. The platform tag says which glibc the files need; with
TOWPATH_WHEEL_FROM an existing layout is taken instead of building one.
"""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

OLDEST_GLIBC = 28
# Where a layout has the Python modules; the environment has them among those of other packages.
MODULES = "lib/python/"


def newest_glibc(files):
    """The highest minor version of glibc's symbols that any of the files asks for."""
    minors = [0]
    for path in files:
        content = path.read_bytes()
        if content.startswith(b"\x7fELF"):
            minors += [int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", content)]
    return max(minors)


class LayOut(BuildHookInterface):
    """Fills the wheel's data and scripts directories."""

    def build(self, prefix):
        """Builds from source; what is missing for that is said in a sentence instead of a traceback."""
        cargo = os.environ.get("CARGO", "cargo")
        compiler = os.environ.get("CC", "cc").split()[0]
        missing = [f"{what} ({program})" for what, program in [("Rust", cargo), ("a C compiler", compiler)] if not shutil.which(program)]
        if missing:
            self.app.abort(f"Towpath cannot be built from source: {' and '.join(missing)} cannot be found. Install Rust (https://rustup.rs) "
                           "and a C compiler (Debian: apt install gcc), or install a wheel of Towpath, which needs neither.")
        self.app.display_info("building Towpath takes about four minutes on two cores; pip -v shows what is being built")
        command = [cargo, "run", "-q", "-p", "xtask", "--", "dist", "--prefix", prefix]
        status = subprocess.run(command, cwd=self.root).returncode
        if status:
            self.app.abort(f"Towpath cannot be built from source: {' '.join(command)} ended with {status}; its messages stand above.")

    def initialize(self, version, build_data):
        prefix = os.environ.get("TOWPATH_WHEEL_FROM")
        if prefix is None:
            self._directory = tempfile.TemporaryDirectory(prefix="towpath-wheel-")
            prefix = self._directory.name
            self.build(prefix)
        prefix = Path(prefix)
        files = [path for path in sorted(prefix.rglob("*")) if path.is_file() and path.parent.name != ".debug"]
        if not any(path.name == "libmpi.so.12" for path in files):
            raise RuntimeError(f"{prefix} holds no libmpi.so.12: `xtask dist` did not finish")
        for path in files:
            place = path.relative_to(prefix).as_posix()
            if place.startswith("bin/"):
                build_data["shared_scripts"][str(path.resolve())] = place.removeprefix("bin/")
            elif place.startswith(MODULES):
                build_data["force_include"][str(path.resolve())] = place.removeprefix(MODULES)
            else:
                build_data["shared_data"][str(path.resolve())] = place
        minor = newest_glibc(files)
        platform = "manylinux_2_28_x86_64" if minor <= OLDEST_GLIBC else "linux_x86_64"
        if minor > OLDEST_GLIBC:
            self.app.display_info(f"built on a system whose files need glibc 2.{minor}: the wheel is for this machine only")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
