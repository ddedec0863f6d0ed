#!/usr/bin/env python3
"""Runs a command as one stage: timed.py "name of the stage" command arguments... ; says how long it took."""

import subprocess
import sys
import time

name, command = sys.argv[1], sys.argv[2:]
print(f"== {name}", flush=True)
started = time.monotonic()
status = subprocess.call(command)
print(f"== {name}: {'done' if status == 0 else f'failed with {status}'} in {time.monotonic() - started:.1f} s", flush=True)
sys.exit(status)
