"""Of ci/soak: the kinds of faults, what each does to a run, and how the run must end."""
import dataclasses
import glob
import os
import resource
import shutil
import signal
import subprocess
import time

from soak_fleet import connect, hit_agent, kill_rank_of_agent, lose_redis, meet_in_redis, no_redis
from soak_run import Run, lines

FAKETIME = next(iter(sorted(glob.glob("/usr/lib/*/faketime/libfaketime.so.*"))), "")
ANY = {"virtual": 24, "gloo": 2, "shm": 2, "emulated": 1}
RANKS = {"virtual": 16, "gloo": 3, "shm": 3, "emulated": 1, "auto": 1}
SERVERS = {"servers": 1}
FLEET = {"fleet": 1}
STALL = 1.5  # seconds


@dataclasses.dataclass
class Kind:
    what: str
    ends: tuple
    words: str = "^$"  # what a failed row or an exit code 6 says
    clocks: dict = dataclasses.field(default_factory=lambda: ANY)
    act: object = None  # at a moment of the run; false: there was nothing to hit
    prepare: tuple = ()  # before the run
    limit: float = 0  # seconds for the run to end; 0: what it needs
    may_resume: bool = True
    names_resume: bool = False  # an exit code 6 tells how to go on
    tells: bool = True  # an interrupt does
    at_once: bool = False  # acts as soon as the run has begun

    def strike(self, case, hurry):
        if self.act is None:
            return True
        return (self.at_once or case.sleep_until_moment(hurry)) and self.act(case) is not False


def missing(kind, namespace):
    """Why there are no such faults on this machine; nothing: there are."""
    if kind in ("disk", "full-shm", "readonly") and not namespace:
        return "no mount namespace (unshare -m)"
    if kind == "processes" and os.geteuid() != 0:
        return "needs root, to be another user"
    if kind == "clock" and not os.path.exists(FAKETIME):
        return "needs Debian's package libfaketime"
    return no_redis() if kind == "redis" else ""


def victim(case):
    """A rank of the trial in progress, with its number where that is sure. None: the run has ended."""
    while not case.run.ended():
        ranks = case.run.ranks()
        if not ranks:
            time.sleep(0.001)
            continue
        case.act()
        done = {line.split(b'"id":"')[1].split(b'"')[0].decode() for line in case.before}
        left = [name for name in case.reference["ids"] if name not in done]
        if case.reference["virtual"]:
            return case.draw.choice(ranks), 0
        whole = bool(left) and len(ranks) == case.reference["ranks"][left[0]]
        if case.kind.clocks is SERVERS and not whole:
            time.sleep(0.001)
            continue
        n = len(ranks) - 1 if case.kind.clocks is SERVERS else case.draw.randrange(len(ranks))
        return ranks[n], n if whole else None
    return None


def hit_rank(number, words, within=0.0):
    """A row (or what a calibration says) names the rank and the cause, soon."""
    def act(case):
        found = victim(case)
        if found is None:
            return False
        pid, rank = found
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return False
        if not words:
            return True
        case.words = f"rank {r'[0-9]+' if rank is None else rank} (was |has been |is ){words}"
        told = case.wait_until(lambda: case.run.ended() or b'"status":"failed"' in b"".join(lines(case.row_file())) or
                               "calibration failed" in case.run.said(), 4 + within)
        if not told and not case.reference["virtual"]:  # there rows are added in the plan's order
            case.breach(f"no word of the rank within {4 + within} s")
        if "calibration failed" in case.run.said():
            case.outcome = "calibrated once more"
        return told or case.reference["virtual"]
    return act


def stall(case):
    case.options += ["--stall-timeout", f"{STALL:.1f}s"]


def hit_launcher(*numbers, group=False):
    def act(case):
        case.act()
        for i, number in enumerate(numbers):
            if i > 0:
                time.sleep(case.draw.uniform(0, 0.05))
            if group and not case.run.ended():
                os.killpg(case.run.process.pid, number)
            else:
                case.run.signal(number)
        return True
    return act


def hold(case):
    """^Z, and fg some time later; ranks are in groups of their own and go on."""
    case.act()
    case.run.signal(signal.SIGSTOP)
    time.sleep(case.draw.uniform(0.05, 2 * STALL if case.draw.random() < 0.2 else 0.5))
    case.run.signal(signal.SIGCONT)


def pause(case):
    found = victim(case)
    if found is None:
        return False
    try:
        os.kill(found[0], signal.SIGSTOP)
        time.sleep(case.draw.uniform(0.05, 0.6))
        os.kill(found[0], signal.SIGCONT)
    except ProcessLookupError:
        return False
    return True


def tear(case):
    """The machine is gone in the middle of a write: the last line is cut, or ends in a block of zeros."""
    hit_launcher(signal.SIGKILL)(case)
    case.run.process.wait()
    size = os.path.getsize(case.row_file()) if os.path.exists(case.row_file()) else 0
    if size == 0:
        return
    last = len(lines(case.row_file())[-1])
    with open(case.row_file(), "r+b") as file:
        cut = case.draw.randrange(1, last + 1)
        file.truncate(size - cut)
        if case.draw.random() < 0.3:
            file.truncate(size - 1)
            file.seek(size - 1)
            file.write(b"\n")
    case.before = case.before[:-1]


def fill(folder, leave):
    def act(case):
        case.act()
        ballast = folder(case) + "/ballast"
        space = os.statvfs(folder(case))
        left = case.draw.randrange(leave) if leave else 0
        with open(ballast, "wb") as file:
            try:
                os.posix_fallocate(file.fileno(), 0, max(4096, space.f_bavail * space.f_frsize - left))
            except OSError:  # the run took some meanwhile
                pass
        case.undo.append(lambda: os.path.exists(ballast) and os.unlink(ballast))
        return True
    return act


def full_shm(case):
    fill(lambda _: "/dev/shm", 0)(case)
    case.shop.traces_before.add("/dev/shm/ballast")


def limit(*limits):
    """`limits`: of a resource, from, to, in a unit."""
    def prepare(case):
        drawn = [(name, int(case.draw.uniform(low, high)) * unit) for name, low, high, unit in limits]
        case.at = ", ".join(f"{value}" for _, value in drawn)
        case.prepare = lambda: [resource.setrlimit(name, (value, value)) for name, value in drawn]
    return prepare


def other_user(case):
    """Root may have as many processes as it wants."""
    user = 61000 + os.getpid() % 1000
    os.makedirs(case.folder, exist_ok=True)
    subprocess.run(["chown", "-R", str(user), case.folder], check=True)
    limits = case.prepare

    def prepare():
        os.setgroups([])
        os.setgid(user)
        limits()
        os.setuid(user)
    case.prepare = prepare


def set_clock(case, seconds):
    """At once: of a process that starts while the file is empty, libfaketime takes the uptime for an offset, by which
    it then puts off the end of every sleep."""
    with open(case.stamp + ".new", "w", encoding="utf-8") as file:
        file.write(f"{seconds:+d}")
    os.replace(case.stamp + ".new", case.stamp)


def fake_clock(case):
    case.stamp = case.shop.folder + "/clock"
    set_clock(case, 0)
    case.environment = {"LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": case.stamp, "FAKETIME_NO_CACHE": "1",
                        "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


def step_clock(case):
    case.act()
    set_clock(case, case.draw.choice((-1, 1)) * case.draw.choice((2, 90, 86400, 10**8)))


def second_run(case):
    """One that wants to go on with the same folder, or to begin one there."""
    case.act()
    if not case.wait_until(lambda: case.run.ended() or os.path.exists(case.row_file()), 5) or case.run.ended():
        return False
    begin = [case.shop.suite, *case.flags, "-o", case.folder]
    other = Run(case.shop, case.draw.choice((begin, ["--resume", case.folder, *case.filter])))
    code = other.finish(20)
    other.reader.join(2)
    case.outcome = other.said().splitlines()[-1] if other.said() else ""
    if case.run.ended() and code == 0:
        return False  # the first one was through
    if code != 2 or "another hopbench is at work" not in case.outcome and "holds a run already" not in case.outcome:
        case.breach(f"the second one ended with {code}: {case.outcome}")
    return True


def twin(case):
    """Two that begin the same folder at the same instant: one of them gets it."""
    other = Run(case.shop, [case.shop.suite, *case.flags, "-o", case.folder])
    codes = {other.finish(60), case.run.finish(60)}
    if codes != {0, 2}:
        case.breach(f"the two ended with {codes}: {other.said()[-300:]} {case.run.said()[-300:]}")


def read_only(case):
    case.act()

    def mount(mode):
        command = ["mount", "-o", "remount," + mode, case.shop.disk]
        return lambda: subprocess.run(command, capture_output=True, check=False)
    case.undo.append(mount("rw"))
    return case.wait_until(lambda: mount("ro")().returncode == 0 or case.run.ended(), 3) and not case.run.ended()


def delete(case):
    case.act()
    case.before = []  # who deletes a folder deletes its rows
    while os.path.exists(case.folder):
        shutil.rmtree(case.folder, ignore_errors=True)


def move(case):
    case.act()
    away = case.folder + ".away"
    if not os.path.exists(case.row_file()):
        return False
    os.rename(case.folder, away)

    def back():
        shutil.rmtree(case.folder, ignore_errors=True)
        os.rename(away, case.folder)
    case.undo.append(back)
    return True


def block_events(case):
    """Instead of the folder of event logs there is a file, or nothing."""
    case.act()
    events = case.folder + "/events"
    if not os.path.isdir(events):
        return False
    os.rename(events, events + ".away")
    if case.draw.random() < 0.5:
        open(events, "wb").close()

    def back():
        if os.path.isfile(events):
            os.unlink(events)
        shutil.copytree(events + ".away", events, dirs_exist_ok=True)
        shutil.rmtree(events + ".away")
    case.undo.append(back)
    return True


def full_stdout(case):
    if case.draw.random() < 0.5:
        case.streams = {"stdout": open("/dev/full", "wb")}
        return
    reader, writer = os.pipe()
    os.close(reader)
    case.streams = {"stdout": os.fdopen(writer, "wb")}


def close_stderr(case):
    reader, writer = os.pipe()
    os.close(reader)
    case.streams = {"stderr": os.fdopen(writer, "wb")}


KILL, STOP, TERM, INT = signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGINT
LOST = "was lost|did not come"
INTERRUPTED, TERMINATED = (130, 0, -INT), (143, 0, -TERM)  # 0: it was through; by the signal: it had hardly begun
KINDS = {
    "kill": Kind("kill -9 of a rank", (3, 0), clocks=RANKS, act=hit_rank(KILL, r"killed by signal 9")),
    "kill-server": Kind("kill -9 of a server's rank", (3,), clocks=SERVERS, act=hit_rank(KILL, r"killed by signal 9")),
    "stop": Kind("SIGSTOP of a rank, up to the stall limit", (3, 0), clocks=RANKS, prepare=(stall,),
                 act=hit_rank(STOP, "stopped", STALL)),
    "stop-server": Kind("SIGSTOP of a server's rank", (3,), clocks=SERVERS, prepare=(stall,),
                        act=hit_rank(STOP, "stopped", STALL)),
    "pause": Kind("SIGSTOP of a rank, SIGCONT before the limit", (0,), clocks=RANKS, act=pause),
    "ignored": Kind("SIGTERM to a rank", (0,), clocks=RANKS, act=hit_rank(TERM, "")),
    "hold": Kind("SIGSTOP of hopbench, then SIGCONT", (0,), prepare=(stall,), act=hold),
    "interrupt": Kind("^C", INTERRUPTED, clocks=RANKS, act=hit_launcher(INT), limit=4),
    "interrupt2": Kind("^C twice", INTERRUPTED, clocks=RANKS, act=hit_launcher(INT, INT), limit=4),
    "interrupt3": Kind("^C three times", INTERRUPTED, act=hit_launcher(INT, INT, INT), limit=4, tells=False),
    "terminal": Kind("^C to the process group, as a terminal does", INTERRUPTED, act=hit_launcher(INT, group=True),
                     limit=4),
    "terminate": Kind("SIGTERM", TERMINATED, clocks=RANKS, act=hit_launcher(TERM), limit=4),
    "terminate2": Kind("SIGTERM twice", TERMINATED, act=hit_launcher(TERM, TERM), limit=4),
    "hangup": Kind("SIGHUP: the terminal is closed", (-signal.SIGHUP, 0), act=hit_launcher(signal.SIGHUP), limit=4),
    "murder": Kind("kill -9 of hopbench", (-KILL,), clocks=RANKS, act=hit_launcher(KILL), limit=4),
    "torn": Kind("kill -9 of hopbench, and the last line cut or zeroed", (-KILL,), act=tear, limit=4),
    "disk": Kind("disk full", (0, 3, 6), "No space left|disk full", act=fill(lambda case: case.shop.disk, 150000),
                 names_resume=True),
    "file-size": Kind("files may not grow (ulimit -f)", (0, 3, 6), "File too large|disk full|ulimit -f",
                      names_resume=True, prepare=(limit((resource.RLIMIT_FSIZE, 1000, 60000, 1)),)),
    "full-shm": Kind("/dev/shm full", (0,), act=full_shm),
    "files": Kind("few open files (ulimit -n)", (0, 3, 6), "ulimit -n", names_resume=True,
                  prepare=(limit((resource.RLIMIT_NOFILE, 4, 24, 1)),)),
    "memory": Kind("little memory (ulimit -v)", (0, 3, 6), "memory|ulimit", names_resume=True,
                   prepare=(limit((resource.RLIMIT_AS, 64, 400, 1 << 20)),)),
    "stack": Kind("a small stack (ulimit -s)", (0, 6), "ulimit -s",
                  prepare=(limit((resource.RLIMIT_STACK, 24, 2048, 1024)),)),
    "processes": Kind("few processes (ulimit -u)", (0, 3, 6), "ulimit -u", names_resume=True,
                      prepare=(limit((resource.RLIMIT_NPROC, 1, 24, 1)), other_user)),
    "clock": Kind("the wall clock stepped by up to three years", (0,), prepare=(fake_clock,), act=step_clock),
    "second": Kind("a second run on the same folder", (0,), act=second_run),
    "twins": Kind("two runs that begin one folder at once", (0, 2), act=twin, may_resume=False, at_once=True),
    "readonly": Kind("the disk turns read-only", (0, 3, 6), "Read-only|event log", act=read_only, names_resume=True),
    "deleted": Kind("the folder deleted", (0, 2, 3, 6), "No such file|event log", act=delete),
    "moved": Kind("the folder renamed, and back afterwards", (0, 2, 3, 6), "No such file|event log", act=move),
    "events": Kind("the event logs' folder gone", (0, 3), "event log", act=block_events),
    "stdout": Kind("standard output full or closed", (6,), "standard output", prepare=(full_stdout,)),
    "agent": Kind("kill -9 of an agent", (0, 3, 6), LOST, clocks=FLEET, act=hit_agent(KILL), limit=30),
    "agent-stop": Kind("SIGSTOP of an agent, SIGCONT after the run", (0, 3, 6), LOST + "|not ready", clocks=FLEET, act=hit_agent(STOP), limit=60),
    "agent-term": Kind("SIGTERM to an agent", (0, 143, 6), LOST, clocks=FLEET, act=hit_agent(TERM), tells=False),
    "agent-rank": Kind("kill -9 of an agent's rank", (0, 3), clocks=FLEET, act=kill_rank_of_agent),
    "fleet-murder": Kind("kill -9 of process 0 of several", (-KILL,), clocks=FLEET, act=hit_launcher(KILL)),
    "fleet-interrupt": Kind("^C of process 0 of several", INTERRUPTED, clocks=FLEET, act=hit_launcher(INT), limit=10),
    "fleet-hold": Kind("SIGSTOP of process 0 of several, then SIGCONT", (0,), clocks=FLEET, act=hold),
    "redis": Kind("Redis gone", (0, 6), "cannot meet at redis|did not come", clocks=FLEET, prepare=(meet_in_redis,), act=lose_redis,
                  limit=30),
    "strangers": Kind("somebody connects to whoever listens", (0,), clocks={"gloo": 2, "fleet": 1}, act=connect,
                      at_once=True, limit=60),
    "stderr": Kind("standard error closed", (0,), prepare=(close_stderr,)),
}
