#!/usr/bin/env python3
"""Compares `hopbench import kineto` with a second computation, written apart from it, over profiles that somebody else made.

  ci/peers/kineto.py FILE.json.gz...     HOPBENCH: another program than that of ci/setup

A kernel belongs to the step (ProfilerStep#N) in which the processor launched it, by their correlation. A step of the GPU ends with its last kernel or
with its mark, whichever is later. It begins where the one before ends, but not before its mark and not after its first kernel; the first step of a file
begins as long after its mark as it ends after it. The compute time is the step minus those parts of NCCL kernels beside which no other kernel, copy or
fill runs. Prints a line for each profile. Exit code 1 if a step was left out, or differs by more than 0.5 %.
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


def windows(marks, kernels, launches):
    """Returns begin and end of each step by its number, as the GPU does them. `marks`: begin, end, number, ascending."""
    spans = {number: [] for _, _, number in marks}
    for each in kernels:
        launch = launches.get(each.get("args", {}).get("correlation"))
        spans.get(next((number for begin, end, number in marks if launch is not None and begin <= launch < end), None), []).append(
            (each["ts"], each["ts"] + each["dur"]))
    found, before = {}, None
    for begin, end, number in marks:
        first = min((each[0] for each in spans[number]), default=None)
        last = max((each[1] for each in spans[number]), default=end)
        starts = [each for each in (first, begin + last - end if before is None else before) if each is not None]
        found[number] = (max(begin, min(starts)), max(end, last))
        before = found[number][1]
    return found


def expected(profile):
    """Returns the seconds of compute, by step number."""
    with gzip.open(profile) as file:
        events = [each for each in json.load(file)["traceEvents"] if each.get("ph") == "X" and "dur" in each]
    kernels = [each for each in events if str(each.get("cat", "")).lower() in DEVICE]
    launches = {each["args"].get("correlation"): each["ts"] for each in events
                if str(each.get("cat", "")).lower().endswith(("runtime", "driver")) and "args" in each}
    marks = sorted((each["ts"], each["ts"] + each["dur"], int(each["name"].split("#")[1])) for each in events
                   if str(each.get("name", "")).startswith("ProfilerStep#") and each.get("cat") != "gpu_user_annotation")
    if not kernels:
        sys.exit(f"ci/peers/kineto.py: {profile} has no kernels: profiles of a GPU are compared here")

    def spans(communicate):
        return joined([(each["ts"], each["ts"] + each["dur"]) for each in kernels if ("nccl" in each["name"].lower()) == communicate])

    exchange, compute = spans(True), spans(False)
    found = {}
    for number, (begin, end) in windows(marks, kernels, launches).items():
        inside = [[max(first, begin), min(last, end)] for first, last in exchange if first < end and last > begin]
        found[number] = (end - begin - uncovered(inside, compute)) / 1e6
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
