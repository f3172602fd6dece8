"""Of ci/soak: small runs of hopbench, undisturbed ones to compare with, and what is looked at after a fault."""
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time

SUITE = """schema = 1
name = "soak"
[run]
world_size = 3
iterations = 12
warmup_time = "0s"
repeats = 1
remeasure = 0
[topology]
name = "ring"
[model]
name = "quadratic"
size = 512
batch = 4
[compute]
backend = "reference"
pace = "2ms"
[transport]
name = "sim"
[[protocol]]
name = "allreduce"
[[protocol]]
name = "ps_bsp"
servers = 1
[[protocol]]
name = "dpsgd"
[[protocol]]
name = "ps_ssp"
servers = 1
[[scenario]]
name = "homogeneous"
[[scenario]]
name = "slow"
compute = [{ kind = "bernoulli", probability = "1/n", factor = 3.0 }]
[[measure]]
what = "rate"
"""
REAL = ["--filter", "allreduce|ps_bsp", "--set", "transport.name=gloo"]
# A resumed run must be told --filter again; all else is in its folder.
CLOCKS = {
    "virtual": ["--filter", "homogeneous|allreduce"],
    "gloo": REAL,
    "shm": ["--filter", "allreduce|ps_bsp", "--set", "transport.name=shm"],
    "emulated": REAL + ["--set", "network.emulate=true", "--set", "network.latency=2ms"],
    "auto": ["--set", "transport.name=gloo", "--set", "compute.pace=auto", "--filter", "homogeneous/ps_bsp"],
    "servers": ["--set", "transport.name=gloo", "--filter", "ps_"],
    "fleet": REAL,
}
FLEET = 3  # processes of a run on that clock: a worker each
HOST = ("wall_s", "cpu_s", "max_rss_bytes")  # of a row in virtual time: all that measures the machine
TABLES = ("trials.csv", "ranks.csv", "curve.csv", "summary.md")  # in virtual time the same bytes each time


def processes():
    """(pid, parent, session, start, state) of all that live."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                rest = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if rest[0] not in "ZX":
            found.append((int(name), int(rest[1]), int(rest[3]), int(rest[19]), rest[0]))
    return found


def lines(path):
    """The whole lines of a file, without those that a crash left as zeros; none if it is not there."""
    try:
        with open(path, "rb") as file:
            return [line for line in file.read().split(b"\n")[:-1] if b"\0" not in line]
    except OSError:
        return []


class Run:
    """hopbench in a session of its own, so that everything it starts can be found."""

    def __init__(self, shop, arguments, prepare=None, environment=None, fleet=False, **streams):
        self.begun = time.monotonic()
        command, environment = [shop.hopbench, "run", *arguments], {**shop.environment, **(environment or {})}
        if fleet:
            command += ["--rendezvous-timeout", "6s"]
            environment = {"HOPBENCH_RENDEZVOUS": shop.meeting, "HOPBENCH_WORLD_SIZE": str(FLEET), "HOPBENCH_JOB": "soak",
                           **environment}

        def start(number, prepare, **streams):
            own = {"HOPBENCH_RANK": str(number)} if fleet else {}
            for attempt in range(100):
                try:
                    return subprocess.Popen(command, stdin=subprocess.DEVNULL, cwd=shop.folder, env={**environment, **own},
                                            start_new_session=True, preexec_fn=prepare, **streams)
                except BlockingIOError:  # another job has as many processes of the other user as this one may have
                    if attempt == 99:
                        raise
                    time.sleep(0.05)
        self.process = start(0, prepare, **{"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, **streams})
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.agents = [start(number, None, **silent) for number in range(1, FLEET)] if fleet else []
        self.agent_codes = []
        self.err = b""
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        if self.process.stderr:
            for line in self.process.stderr:
                self.err += line

    def said(self):
        return self.err.decode(errors="replace")

    def ended(self):
        return self.process.poll() is not None

    def signal(self, number):
        if not self.ended():
            self.process.send_signal(number)

    def ranks(self):
        """In the order in which they were started."""
        own = [(start, pid) for pid, parent, _, start, _ in processes() if parent == self.process.pid]
        return [pid for _, pid in sorted(own)]

    def sessions(self):
        return {process.pid for process in (self.process, *self.agents)}

    def left_over(self):
        sessions = self.sessions()
        return [pid for pid, _, session, _, _ in processes() if session in sessions]

    def finish(self, limit):
        """Exit code; None: it had to be killed."""
        try:
            code = self.process.wait(limit)
        except subprocess.TimeoutExpired:
            code = None
            self.process.kill()
            self.process.wait()
        for agent in self.agents:
            agent.send_signal(signal.SIGCONT)  # one that was stopped finds that the run is over
            try:
                self.agent_codes.append(agent.wait(8))
            except subprocess.TimeoutExpired:
                agent.kill()
                agent.wait()
                self.agent_codes.append(None)
        return code


class Case:
    """One fault: a run, what befell it, and what was found."""

    def __init__(self, shop, kind, draw, clock):
        self.shop, self.kind, self.draw, self.clock = shop, kind, draw, clock
        self.flags = CLOCKS[clock]
        self.filter = self.flags[self.flags.index("--filter"):][:2]
        self.reference = shop.reference(clock)
        self.folder = shop.disk + "/run"
        self.resumed = kind.may_resume and draw.random() < 0.5
        self.breaches, self.outcome, self.lost, self.leftovers = [], "", 0, 0
        self.before, self.run, self.hit, self.code, self.acted, self.took, self.at = [], None, False, None, None, 0, ""
        self.prepare, self.environment, self.streams, self.options, self.undo = None, {}, {}, [], []
        self.words, self.fleet, self.victim = kind.words, clock == "fleet", 0

    def breach(self, text):
        self.breaches.append("BROKEN: " + text)

    def row_file(self):
        return self.folder + "/trials.jsonl"

    def rows(self):
        return [json.loads(line)["record"] for line in lines(self.row_file())]

    def begin(self):
        """A fresh folder, or one of which some trials are done."""
        shutil.rmtree(self.folder, ignore_errors=True)
        arguments = [self.shop.suite, *self.flags, "-o", self.folder]
        if self.resumed:
            shutil.copytree(self.reference["folder"], self.folder)
            kept = lines(self.row_file())[:self.draw.randrange(len(self.reference["ids"]))]
            with open(self.row_file(), "wb") as file:
                file.write(b"".join(line + b"\n" for line in kept))
            for name in (*TABLES, "host.csv"):
                os.unlink(f"{self.folder}/{name}")
            arguments = ["--resume", self.folder, *self.filter]
        self.before = lines(self.row_file())
        self.shop.traces_before = self.shop.traces()
        for prepare in self.kind.prepare:
            prepare(self)
        self.run = Run(self.shop, arguments + self.options, self.prepare, self.environment, self.fleet, **self.streams)

    def wait_until(self, condition, limit):
        end = time.monotonic() + limit
        while not condition():
            if time.monotonic() > end:
                return False
            time.sleep(0.003)
        return True

    def sleep_until_moment(self, hurry):
        """False: the run was over before."""
        moment = self.draw.uniform(0, self.reference["seconds"] / hurry)
        self.at = f"{moment:.2f} s"
        return not self.wait_until(self.run.ended, max(0.001, self.run.begun + moment - time.monotonic()))

    def act(self):
        """What was finished at that moment must be there ever after."""
        self.before = lines(self.row_file()) or self.before
        self.acted = time.monotonic()

    def end(self):
        limit = self.kind.limit if self.kind.limit else 10 + 3 * self.reference["seconds"]
        self.code = self.run.finish(limit)
        self.took = time.monotonic() - (self.acted or self.run.begun)
        if self.code is None:
            self.breach(f"still running after {limit:.0f} s")
        finished = self.code == -signal.SIGKILL and "results: " in self.run.said()  # all was written when process 0 was killed
        told = (0,) if finished else ()
        for number, code in enumerate(self.run.agent_codes, 1):
            if number != self.victim and code not in (self.code, 6, 143, *told) or code is None:
                self.breach(f"process {number} ended with {code}")
        if not self.wait_until(lambda: not self.run.left_over(), 3):
            left = self.run.left_over()
            self.leftovers += len(left)
            self.breach(f"{len(left)} processes left")
            for pid in left:
                os.kill(pid, signal.SIGKILL)
        self.run.reader.join(2)
        new = self.shop.traces() - self.shop.traces_before
        if new:
            self.leftovers += len(new)
            self.breach("left in /dev/shm or $TMPDIR: " + " ".join(sorted(new)))

    def judge_end(self):
        said = self.run.said()
        too_late = self.code == 0 and -signal.SIGKILL in self.kind.ends and "results: " in said  # it had ended when it was killed
        if self.code is not None and self.code not in self.kind.ends and not too_late:
            self.breach(f"exit code {self.code}: {' | '.join(said.splitlines()[-2:])}")
        self.outcome = self.outcome or f"{len(lines(self.row_file()))} rows"
        how = f"run --resume {self.folder}"
        if self.code in (130, 143) and self.kind.tells and os.path.exists(self.row_file()) and how not in said:
            self.breach("no word of how to go on")
        if self.code == 6:
            self.outcome = said.splitlines()[-1] if said else ""
            if not re.search(self.words, self.outcome):
                self.breach("exit code 6 over something else: " + self.outcome)
            if self.kind.names_resume and self.in_its_folder() and how not in said:
                self.breach("no word of how to go on")
        if os.path.exists(self.row_file()):
            self.judge_rows()

    def in_its_folder(self):
        """It had come to its folder: before that, the same command goes on."""
        return os.path.exists(self.row_file()) and "is not available" not in self.outcome

    def judge_rows(self):
        now = lines(self.row_file())
        missing = len([line for line in self.before if line not in now])
        self.lost += missing
        if now[:len(self.before)] != self.before:
            self.breach(f"rows that were finished have changed, {missing} are lost")
        failed = [row["reason"] for row in self.rows() if row["status"] == "failed"]
        for row in self.rows():
            if row["status"] == "ok" and row["params_hash"] != self.reference["hashes"].get(row["id"], row["params_hash"]):
                self.breach("other parameters: " + row["id"])
        if self.code in (0, 3) and (self.code == 3) != bool(failed):
            self.breach(f"exit code {self.code} with {len(failed)} failed trials")
        if self.code in (0, 3) and len(now) != len(self.reference["ids"]):
            self.breach(f"{len(now)} rows for {len(self.reference['ids'])} trials")
        for reason in failed:
            self.outcome = reason
            if not re.search(self.words, reason):
                self.breach("a trial failed over something else: " + reason)

    def repair(self):
        """The run goes on to what it would have been."""
        for undo in reversed(self.undo):
            undo()
        there = os.path.exists(self.row_file())
        kept = [line for line in lines(self.row_file()) if b'"status":"ok"' in line]
        if not there:
            shutil.rmtree(self.folder, ignore_errors=True)
        arguments = (["--resume", self.folder, "--retry-failed", *self.filter] if there
                     else [self.shop.suite, *self.flags, "-o", self.folder])
        again = Run(self.shop, arguments, fleet=self.fleet)
        code = again.finish(20 + 5 * self.reference["seconds"])
        if code != 0:
            self.breach(f"resumed: exit code {code}: {' | '.join(again.said().splitlines()[-2:])}")
            return
        missing = len(set(kept) - set(lines(self.row_file())))
        self.lost += missing
        if missing:
            self.breach(f"resumed: {missing} finished rows are lost")
        for difference in self.shop.differences(self.reference, self.folder):
            self.breach("resumed: not as undisturbed: " + difference)

    def result(self):
        code = 128 - self.code if self.code is not None and self.code < 0 else self.code  # as a shell tells a signal
        return {"clock": self.clock, "resumed": self.resumed, "at": self.at, "code": code, "took": self.took,
                "outcome": self.outcome, "breaches": self.breaches, "leftovers": self.leftovers, "lost": self.lost}


class Workshop:
    """A folder for one fault after the other: the suite, undisturbed runs, and a small disk where there may be one."""

    def __init__(self, folder, hopbench):
        self.folder, self.hopbench, self.references, self.traces_before = folder, hopbench, {}, set()
        self.suite, self.disk, self.tmp = folder + "/soak.toml", folder + "/disk", folder + "/tmp"
        self.meeting = folder + "/meeting"
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("SOAK_")}
        self.environment["TMPDIR"] = self.tmp

    def __enter__(self):
        with open(self.suite, "w", encoding="utf-8") as file:
            file.write(SUITE)
        for made in (self.disk, self.tmp, self.meeting):
            os.mkdir(made)
        os.chmod(self.tmp, 0o777)
        os.chmod(self.folder, 0o711)
        os.nice(10)
        if os.environ["SOAK_NAMESPACE"] == "1":
            for where, size in (("/dev/shm", "64m"), (self.disk, "8m")):
                subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", where], check=True)
        return self

    def __exit__(self, *_):
        if os.path.ismount(self.disk):
            subprocess.run(["umount", "-l", self.disk], check=False)

    def traces(self):
        return {f"{place}/{name}" for place in ("/dev/shm", self.tmp) for name in os.listdir(place)}

    def reference(self, clock):
        if clock not in self.references:
            folder = f"{self.folder}/{clock}"
            run = Run(self, [self.suite, *CLOCKS[clock], "-o", folder], fleet=clock == "fleet")
            code = run.finish(300)
            seconds = time.monotonic() - run.begun
            rows = [json.loads(line)["record"] for line in lines(folder + "/trials.jsonl")]
            if code != 0 or not rows:
                raise SystemExit(f"ci/soak: an undisturbed run ended with {code}: {run.said()}")
            ranks = {row["id"]: len(row["ranks"]) for row in rows}
            hashes = {row["id"]: row["params_hash"] for row in rows if "ps_ssp" not in row["id"]}  # the others are lock-step
            self.references[clock] = {"folder": folder, "seconds": seconds, "ids": [row["id"] for row in rows],
                                      "ranks": ranks, "hashes": hashes, "virtual": clock == "virtual"}
        return self.references[clock]

    def fault(self, kind, draw, allowed):
        """Until one has hit: a run may be over before its moment."""
        clocks = {clock: weight for clock, weight in kind.clocks.items() if clock in allowed}
        for hurry in (1, 2, 4, 1000):
            case = Case(self, kind, draw, draw.choices(list(clocks), list(clocks.values()))[0])
            case.begin()
            case.hit = kind.strike(case, hurry)
            case.end()
            if case.hit:
                break
            for undo in reversed(case.undo):
                undo()
        if case.hit:
            case.judge_end()
            case.repair()
        else:
            case.outcome = "missed: the run was over each time"
        return case.result()

    @staticmethod
    def differences(reference, folder):
        """Between an undisturbed run and this one: in virtual time to the byte but for HOST and host.csv, in real time
        of which trials there are, and that all are ok."""
        def rows(path):
            return {row["record"]["id"]: row for row in map(json.loads, lines(path + "/trials.jsonl"))}
        then, now = rows(reference["folder"]), rows(folder)
        if set(then) != set(now):
            yield "trials"
        yield from (name for name, row in now.items() if row["record"]["status"] != "ok")
        hashes = reference["hashes"]
        yield from ("the parameters of " + name for name, row in now.items()
                    if row["record"]["params_hash"] != hashes.get(name, row["record"]["params_hash"]))
        if not reference["virtual"]:
            return
        for name, row in now.items():
            for each in (row, then[name]):
                each["record"] = {k: v for k, v in each["record"].items() if k not in HOST}
            if row != then[name]:
                yield "the row of " + name
        files = [*TABLES, *("events/" + name for name in os.listdir(reference["folder"] + "/events"))]
        yield from (name for name in files if lines(f"{folder}/{name}") != lines(f"{reference['folder']}/{name}"))
