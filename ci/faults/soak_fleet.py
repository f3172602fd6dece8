"""Of ci/soak: faults of runs of several processes, of their agents and their meeting point, and strangers who connect."""
import os
import shutil
import signal
import socket
import subprocess
import time

from soak_run import processes


def agent_of(case):
    """One of them, with its number, while the run is on."""
    case.act()
    number = case.draw.randrange(1, 1 + len(case.run.agents))
    case.victim = number
    return (number, case.run.agents[number - 1]) if not case.run.ended() else (0, None)


def hit_agent(which):
    def act(case):
        _, agent = agent_of(case)
        if agent is None or agent.poll() is not None:
            return False
        agent.send_signal(which)
        return True
    return act


def kill_rank_of_agent(case):
    """Worker n is process n's, which has no other rank."""
    number, agent = agent_of(case)
    while agent is not None and not case.run.ended():
        ranks = [pid for pid, parent, *_ in processes() if parent == agent.pid]
        if ranks:
            case.act()
            os.kill(ranks[0], signal.SIGKILL)
            case.words = rf"rank {number} \(.*\) was killed by signal 9"
            return True
        time.sleep(0.001)
    return False


def no_redis():
    return "" if shutil.which("redis-server") else "no redis-server"


def meet_in_redis(case):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", case.shop.folder]
    case.redis = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)

    def answers():
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0
    case.wait_until(answers, 5)
    case.environment = {"HOPBENCH_RENDEZVOUS": f"redis://127.0.0.1:{port}/soak"}
    case.undo.append(lambda: (case.redis.kill(), case.redis.wait()))


def lose_redis(case):
    case.act()
    case.redis.kill()
    case.redis.wait()


def listening_ports(sessions):
    """Of the processes of these sessions."""
    inodes = set()
    for pid, _, session, *_ in processes():
        if session not in sessions:
            continue
        try:
            links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
        except OSError:
            continue
        inodes.update(link[len("socket:["):-1] for link in links if link.startswith("socket:["))
    with open("/proc/net/tcp", encoding="ascii") as file:
        rows = [line.split() for line in file.readlines()[1:]]
    return {int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and row[9] in inodes}


def connect(case):
    """Some who listen for this run are connected to at once: by somebody silent, by garbage, by a huge length, by an old
    token. They hold the line until the run has ended."""
    case.act()
    held, seen, most = [], set(), case.draw.randrange(1, 5)
    said = (b"", os.urandom(200), b"\xff" * 16, b"0" * 32)
    while not case.run.ended():
        for port in list(listening_ports(case.run.sessions()) - seen)[:most - len(seen)]:
            seen.add(port)
            stranger = socket.socket()
            stranger.setblocking(False)
            stranger.connect_ex(("127.0.0.1", port))
            held.append((stranger, case.draw.choice(said)))
        for stranger, words in held:
            try:
                stranger.send(words)
            except OSError:
                pass
        held = [(stranger, b"") for stranger, _ in held]
        time.sleep(0.002)
    for stranger, _ in held:
        stranger.close()
    case.at = f"{len(seen)} ports"
    return bool(seen)
