#!/usr/bin/env python3
"""Random suites in virtual time (suites.py), and what must hold in every trial, whatever is drawn:

* no rate above `ideal`, nor are `slowest rank` and `slowest left out`; no more is heard than computed;
* no gap above its bound;
* counts balance: begun = computed + cut, computed = used + lost + waiting in an unfinished batch, in ranks.csv, trials.csv and the event log;
* replicas of protocols whose workers make the same steps are equal at the end.

  tests/laws/laws.py HOPBENCH FOLDER FIRST [LAST]    the suites number FIRST to LAST, side by side, in FOLDER/NUMBER
"""
import collections
import concurrent.futures
import csv
import glob
import json
import os
import random
import re
import subprocess
import sys

import suites

ROUNDING = 1 + 1e-6
# Their workers report the same model. Where some end before others, that of a worker may be an older one.
REPLICAS = {"allreduce", "lb_bsp", "dynamic_batching", "powersgd", "error_feedback", "dropcompute", "abs_sgd", "hivemind", "diloco", "slowmo", "co2",
            "streaming_diloco", "a_edit", "lasgd"}


def rows(file):
    with open(file, encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def number(row, column):
    return float(row[column]) if row.get(column) else None


class Counted:
    """What an event log says of a worker's gradients."""

    def __init__(self):
        self.begun = self.cut = self.samples = self.part = 0
        self.computed, self.lost, self.applied = set(), set(), set()
        self.open = None

    def gradient(self, event):
        if self.open is None:
            self.begun, self.open, self.part = self.begun + 1, event["iter"], 0
            self.computed.add(self.open)
        self.part += event["count"]
        self.samples += event["count"]

    def stops(self, event):
        """A gradient that was cut short, which is told with its samples, or one that was lost."""
        if "count" not in event:
            self.lost.add(event["iter"])
            return
        self.cut, self.samples = self.cut + 1, self.samples - event["count"]
        self.computed.discard(self.open)
        self.open = None


def counted(log, workers):
    """Returns a Counted for each worker."""
    all_ = collections.defaultdict(Counted)
    with open(log, encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            event = json.loads(line)
            event.setdefault("iter", 0)
            of, what = all_[event["rank"]], event["what"]
            if what == "gradient":
                of.gradient(event)
            elif what == "lost":
                of.stops(event)
            elif what == "enter":
                of.open = None
            elif what == "applied":
                all_[event["peer"]].applied.add(event["iter"])
    return [all_[worker] for worker in range(workers)]


def counts(trial, ranks, log):
    """Yields what does not balance."""
    workers = [rank for rank in ranks if rank["role"] == "worker"]
    logged = counted(log, len(workers))
    applies = any(of.applied for of in logged)
    for rank, of in zip(workers, logged):
        if rank["lost"] == "crash":
            continue  # its counters were lost with it
        told = {"gradients": of.begun - of.cut, "gradients_lost": len(of.lost), "samples": of.samples}
        if of.cut:
            told["figure: gradients cut"] = of.cut
        for column, value in told.items():
            if number(rank, column) != value:
                yield f'{column} of rank {rank["rank"]} is {rank[column]}, and {value} by the event log'
        if number(rank, "slow_events") > number(rank, "gradients"):
            yield f'rank {rank["rank"]}: more slow gradients than gradients'
        if of.lost - of.computed:
            yield f'rank {rank["rank"]} lost gradients that it has not computed: {sorted(of.lost - of.computed)}'
        waiting = of.computed - of.lost - of.applied if trial["protocol"] != "dbw" else set()  # it tells the weights' version, not the iteration
        if applies and waiting and min(waiting) < max(of.applied, default=-1) and not number(trial, "ranks_lost"):
            yield f'rank {rank["rank"]}: neither used nor lost: {sorted(waiting)}; used to {max(of.applied)}'
    for column in ("gradients", "gradients_lost", "samples", "messages", "bytes_sent"):
        if number(trial, column) != sum(number(rank, column) for rank in ranks):
            yield f"{column} of the trial is not the sum of its ranks'"
    for column in (name for name in trial if name.startswith("figure: ") and trial[name]):
        having = [number(rank, column) or 0 for rank in workers if rank["lost"] != "crash"]
        if "loss" not in column and "error" not in column and abs(number(trial, column) - sum(having) / len(having)) > 1e-9:
            yield f"{column} of the trial is not the mean of its workers'"


def rates(trial):
    """Yields what is faster than it can be."""
    ideal, rate = number(trial, "window_ideal_samples_per_s"), number(trial, "samples_per_s")
    for column in ("samples_per_s", "slowest_rank_samples_per_s", "without_slowest_samples_per_s"):
        if ideal is not None and number(trial, column) > ideal * ROUNDING:  # a run of few samples has no window
            yield f"{column} is {trial[column]}, ideal {ideal}"
    heard, gap, bound = (number(trial, column) for column in ("samples_heard_per_s", "gap_max", "gap_bound"))
    if heard is not None and heard > rate * ROUNDING:
        yield f"{heard} samples/s heard of {rate}"
    if bound is not None and gap > bound:
        yield f"gap_max is {gap}, gap_bound {bound}"


def last_point(trial, curve):
    points = [point for point in curve if point["model"] == "mean"]
    if points and not number(trial, "ranks_lost") and number(points[-1], "samples") != number(trial, "samples"):
        yield f'{points[-1]["samples"]} samples at the end of the curve, not {trial["samples"]}'


def replicas(trial, curve):
    points = [point for point in curve if point["model"] == "mean"]
    if trial["protocol"] not in REPLICAS or number(trial, "ranks_lost") or "diverged" in trial["warnings"] or not points:
        return
    if number(points[-1], "consensus_distance"):
        yield f'consensus distance {points[-1]["consensus_distance"]} at the end'


def broken(folder):
    """Yields (trial, what is wrong) for each law that a trial of a run breaks."""
    trials, ranks, curve = (rows(os.path.join(folder, f"{name}.csv")) for name in ("trials", "ranks", "curve"))
    logs = {}
    for log in glob.glob(os.path.join(folder, "events", "*.jsonl")):
        with open(log, encoding="utf-8") as lines:
            logs[json.loads(lines.readline())["trial"]] = log
    for trial in trials:
        if trial["status"] != "ok":
            if "as the scenario says" not in trial["reason"]:
                yield trial["trial"], trial["reason"]
            continue
        own = [rank for rank in ranks if rank["trial"] == trial["trial"]]
        points = [point for point in curve if point["trial"] == trial["trial"]]
        for wrong in (*rates(trial), *counts(trial, own, logs[trial["trial"]]), *replicas(trial, points), *last_point(trial, points)):
            yield trial["trial"], wrong


def run(hopbench, folder, tables):
    """Runs a suite without the variants and scenarios that are refused. Returns hopbench's exit code and what it said."""
    file = os.path.join(folder, "suite.toml")
    while True:
        starts, lines = [], []
        for table in tables:
            starts.append(len(lines) + 1)
            lines += table
        with open(file, "w", encoding="utf-8") as out:
            out.write("\n".join(lines) + "\n")
        done = subprocess.run([hopbench, "run", file, "-o", os.path.join(folder, "out"), "--jobs", "1"], capture_output=True, text=True, check=False)
        at = re.search(r"suite\.toml:(\d+)", done.stderr)
        if done.returncode != 2 or not at:
            return done.returncode, done.stderr
        refused = max(i for i, start in enumerate(starts) if start <= int(at[1]))
        if tables[refused][0] == "[[scenario]]" and len(tables[refused]) > 2:
            tables[refused] = tables[refused][:2]  # in which nobody is slow
        elif tables[refused][0] == "[[protocol]]" and sum(table[0] == "[[protocol]]" for table in tables) > 1:
            del tables[refused]
        else:
            return done.returncode, done.stderr


def check(hopbench, protocols, folder, which):
    """Returns (number of trials, lines about what is wrong) of suite number `which`."""
    folder = os.path.join(folder, str(which))
    os.makedirs(folder)
    code, said = run(hopbench, folder, suites.draw(random.Random(which), protocols, folder))
    again = f"hopbench run {folder}/suite.toml -o OUT"
    if code not in (0, 3):
        return 0, [f"{again}: exit code {code}: {said[-500:]}"]
    out = os.path.join(folder, "out")
    wrong = [f"{again} --filter '{trial}': {what}" for trial, what in broken(out)]
    trials = len(rows(os.path.join(out, "trials.csv")))
    subprocess.run(["rm", "-rf", out] if wrong else ["rm", "-rf", folder], check=True)
    return trials, wrong


def main(hopbench, folder, first, last):
    listed = subprocess.run([hopbench, "list", "protocols", "--json"], capture_output=True, text=True, check=True)
    protocols = json.loads(listed.stdout)["protocols"]
    failed = trials = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for some, wrong in pool.map(lambda which: check(hopbench, protocols, folder, which), range(first, last + 1)):
            trials, failed = trials + some, failed + bool(wrong)
            for line in wrong:
                print(line, flush=True)
    print(f"{last - first + 1} suites, {trials} trials: {failed} suites with a law broken")
    return 1 if failed or not trials else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[-1])))
