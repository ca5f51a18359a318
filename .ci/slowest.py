"""Prints the slowest tests and builds: slowest.py LOG-OF-TESTS HTML-OF-CARGO'S-TIMINGS"""

import json
import re
import sys

MANY = 12

log, timings = (open(path, encoding="utf-8").read() for path in sys.argv[1:])
tests = re.findall(r"^test (.+?) +\.\.\. \w+ <([\d.]+)s>$", log, re.MULTILINE)
binaries = re.findall(
    r"Running .*?\(\S*/(\w+)-\w+\)$.*?finished in ([\d.]+)s$", log, re.MULTILINE | re.DOTALL
)
units = json.loads(re.search(r"const UNIT_DATA = (\[.*?\]);$", timings, re.MULTILINE | re.DOTALL)[1])
builds = [(unit["name"] + (unit["target"] or ""), unit["duration"]) for unit in units]
for title, rows in [("tests", tests), ("test binaries", binaries), ("builds", builds)]:
    print(f"{title}, in seconds:")
    for name, seconds in sorted(rows, key=lambda row: -float(row[1]))[:MANY]:
        print(f"{float(seconds):8.1f}  {name}")
