#!/usr/bin/env python3
"""Compares `hopbench import kineto` with a second computation, written apart from it, over profiles that somebody else made.

  ci/peers/kineto.py FILE.json.gz...     HOPBENCH: another program than that of ci/setup

For each step (ProfilerStep#N) the compute time is the step minus those parts of NCCL kernels beside which no other kernel, copy or fill runs. Prints
a line for each profile. Exit code 1 if a step was left out, or differs by more than 0.5 %.
"""
import argparse
import csv
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LARGEST = 0.005  # relative difference
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


def joined(spans):
    """Returns the union of spans as disjoint ones, ascending."""
    found = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1][1] = max(found[-1][1], end)
        else:
            found.append([begin, end])
    return found


def uncovered(spans, cover):
    """Returns the length of disjoint spans that disjoint `cover` leaves free."""
    length = sum(end - begin for begin, end in spans)
    for begin, end in spans:
        length -= sum(max(0, min(end, last) - max(begin, first)) for first, last in cover)
    return length


def expected(profile):
    """Returns the seconds of compute, by step number."""
    with gzip.open(profile) as file:
        events = [each for each in json.load(file)["traceEvents"] if each.get("ph") == "X" and "dur" in each]

    def spans(communicate):
        return joined([(each["ts"], each["ts"] + each["dur"]) for each in events
                       if str(each.get("cat", "")).lower() in DEVICE and ("nccl" in each["name"].lower()) == communicate])

    exchange, compute = spans(True), spans(False)
    if not exchange and not compute:
        sys.exit(f"ci/peers/kineto.py: {profile} has no kernels: profiles of a GPU are compared here")
    found = {}
    for each in events:
        if not str(each.get("name", "")).startswith("ProfilerStep#") or each.get("cat") == "gpu_user_annotation":
            continue
        begin, end = each["ts"], each["ts"] + each["dur"]
        inside = [[max(first, begin), min(last, end)] for first, last in exchange if first < end and last > begin]
        found[int(each["name"].split("#")[1])] = (end - begin - uncovered(inside, compute)) / 1e6
    return found


def imported(profile):
    program = os.environ.get("HOPBENCH") or ROOT / "ci/hopbench"
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "x.trace.csv"
        said = subprocess.run([program, "import", "kineto", profile, "-o", trace], capture_output=True, text=True)
        if said.returncode != 0:
            sys.exit(f"ci/peers/kineto.py: {profile}: {said.stderr.strip()}")
        rows = [row for row in trace.read_text().splitlines() if not row.startswith("#")]
    return {int(row["step"]): float(row["seconds"]) for row in csv.DictReader(rows)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("profiles", nargs="+", metavar="FILE.json.gz", help="a profile of one rank, with ProfilerStep marks")
    worst = 0
    for profile in parser.parse_args().profiles:
        theirs, ours = expected(profile), imported(profile)
        if not ours:
            sys.exit(f"ci/peers/kineto.py: {profile}: no step was imported")
        largest = max(abs(seconds / theirs[step] - 1) for step, seconds in ours.items())
        print(f"{profile}: {len(ours)} of {len(theirs)} steps, largest difference {largest:.3%}")
        worst = max(worst, largest) if len(ours) == len(theirs) else float("inf")
    return 1 if worst > LARGEST else 0


if __name__ == "__main__":
    sys.exit(main())
