"""Machines of a study: network namespaces on a bridge, whose links the kernel shapes, and the jobs that run there."""
import dataclasses
import os
import shutil
import subprocess

from common.study import give_up, program

BURST = 32 << 10  # bytes of a token bucket
RENO = "net.ipv4.tcp_congestion_control=reno"
# Batches are small, so that all gradients of a set-up fit into half of two cores.
MODELS = {"lenet": ("synthetic", 8), "mlp": ("synthetic", 8), "resnet20": ("synthetic_cifar", 1)}
SLOW = {"nobody": "", "one 3x": '{ kind = "constant", ranks = [LAST], factor = 3.0 }',
        "random 6x": '{ kind = "bernoulli", probability = "1/n", factor = 6.0 }',
        "log-normal": '{ kind = "log_normal", shape = 0.5 }'}


@dataclasses.dataclass
class Setup:
    name: str
    hosts: int
    workers: int  # of each host
    rate: int  # Mbit/s of every link, both ways
    model: str
    pace_ms: int
    slow: str
    up: int = 0  # Mbit/s that the last host sends at; 0: as the others

    def world(self):
        return self.hosts * self.workers

    def narrowest(self):
        """Mbit/s of the slowest link."""
        return min(self.rate, self.up or self.rate)

    def told(self):
        thin = f", the last sends at {self.up}" if self.up else ""
        return f"{self.hosts} machines x {self.workers}, {self.rate} Mbit/s{thin}; {self.model}, {self.pace_ms} ms, slow: {self.slow}"

    def suite(self, name, run_keys):
        """Returns the beginning of a suite: what is run how often, and the model."""
        dataset, batch = MODELS[self.model]
        return f"""schema = 1
name = "{name}"
[run]
world_size = {self.world()}
warmup_time = "0s"
{run_keys}
[model]
name = "{self.model}"
dataset.name = "{dataset}"
batch = {batch}
"""

    def real(self):
        """Returns the part of a suite that says how real processes run on these machines."""
        return f"""[compute]
backend = "onednn"
pace = "{self.pace_ms}ms"
[transport]
interface = "eth0"
[network]
hosts = {self.hosts}
servers_apart = false
"""

    def scenario(self):
        return f'[[scenario]]\nname = "{self.slow}"\ncompute = [{SLOW[self.slow].replace("LAST", str(self.world() - 1))}]\n'


def draw_machines(draw, most_workers):
    """Returns machines, workers of each, and a rate: 4 to 8 workers on 2 to 4 machines, 20 to 250 Mbit/s."""
    hosts, workers = draw.choice([(h, w) for h in (2, 3, 4) for w in range(1, most_workers + 1) if 4 <= h * w <= 8])
    return hosts, workers, round(20 * 12.5 ** draw.random())


def call(*command):
    subprocess.run(command, check=True, capture_output=True, text=True)


class Machines:
    """Namespaces on a bridge of their own, gone at the end. `settings`: for sysctl, in each."""

    def __init__(self, setup, settings):
        self.bridge = f"hbsh{os.getpid()}"
        self.spaces = [f"{self.bridge}-{i}" for i in range(setup.hosts)]
        self.setup, self.settings = setup, settings

    def __enter__(self):
        try:
            self.make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def make(self):
        call("ip", "netns", "add", self.bridge)  # for the bridge itself: the machine's own rules are not in its way
        self.within(self.bridge, "ip", "link", "add", "br0", "type", "bridge")
        self.within(self.bridge, "ip", "link", "set", "br0", "up")
        for i, space in enumerate(self.spaces):
            call("ip", "netns", "add", space)
            call("ip", "link", "add", f"v{i}", "netns", self.bridge, "type", "veth", "peer", "name", "eth0", "netns", space)
            self.within(self.bridge, "ip", "link", "set", f"v{i}", "master", "br0", "up")
            self.within(space, "ip", "link", "set", "lo", "up")
            self.within(space, "ip", "address", "add", f"10.78.0.{i + 1}/24", "dev", "eth0")
            self.within(space, "ip", "link", "set", "eth0", "up")
            self.within(space, "sysctl", "-q", "-w", *self.settings)
            up = self.setup.up if self.setup.up and i == self.setup.hosts - 1 else self.setup.rate
            self.shape(space, "eth0", up)
            self.shape(self.bridge, f"v{i}", self.setup.rate)

    def __exit__(self, *_):
        for space in self.spaces + [self.bridge]:
            subprocess.run(["ip", "netns", "del", space], check=False, capture_output=True)

    def shape(self, space, device, rate):
        self.within(space, "tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", f"{rate}mbit", "burst", str(BURST), "latency", "400ms")

    def within(self, space, *command):
        call("ip", "netns", "exec", space, *command)

    def run(self, words, folder):
        """`hopbench WORDS` as one process on each machine. They meet in a folder below `folder`, where their logs are, too."""
        meeting = folder / "meeting"
        shutil.rmtree(meeting, ignore_errors=True)
        meeting.mkdir()
        processes = []
        for i in reversed(range(len(self.spaces))):
            told = {"HOPBENCH_RANK": i, "HOPBENCH_WORLD_SIZE": len(self.spaces), "HOPBENCH_JOB": "shaped", "HOPBENCH_HOST": f"host{i}"}
            command = ["ip", "netns", "exec", self.spaces[i], program(), *words, "--rendezvous", meeting, "--iface", "eth0"]
            with open(folder / f"log.{i}", "w", encoding="utf-8") as log:
                processes.append(subprocess.Popen([str(word) for word in command], env=os.environ | {k: str(v) for k, v in told.items()},
                                                  stdout=log, stderr=log))
        try:
            codes = [process.wait() for process in processes]
        finally:
            for process in processes:
                process.terminate()  # of those that have ended nothing is left to end
                process.wait()
        if any(codes):
            give_up(f"{self.setup.name}: hopbench {words[0]}: exit codes {codes}: " + (folder / "log.0").read_text(encoding="utf-8")[-2000:])


def need_shaped_links(settings):
    """Ends the study with 6 if this machine cannot make such namespaces."""
    if os.geteuid() != 0:
        give_up("not run: wants root, for network namespaces", 6)
    for needed in ("ip", "tc", "sysctl"):
        if shutil.which(needed) is None:
            give_up(f"not run: no {needed} on this machine", 6)
    try:
        with Machines(Setup("probe", 1, 1, 100, "lenet", 1, "nobody"), settings):
            pass
    except subprocess.CalledProcessError as error:
        give_up(f"not run: no shaped namespaces here: {' '.join(map(str, error.cmd))}: {error.stderr.strip()}", 6)
