"""PyTorch's side of ci/gpu, in turns with hopbench: times as JSON lines, one a round, which ci/stages/gpu_tables.py makes tables of.

gpu_peer.py [--hopbench PROGRAM [--libraries PATH]] [--rounds N] [--steps N] [--seconds S]
            [--models LIST] [--batches LIST] [--precisions LIST] [--quick] [--deterministic] [--check-on-cpu]

A gradient is forward pass, softmax cross-entropy and backward pass on drawn inputs that lie in the GPU's memory; a step is
a gradient and SGD with momentum 0.9. `event_ms` are times between CUDA events around each of many steps in flight;
`wall_ms` is wall time of steps that are waited for one by one. PyTorch may choose convolutions by measuring
(cudnn.benchmark), unless --deterministic.

--quick: without PyTorch's whole steps, and without its channels-last ones that are no graphs.
--libraries: hopbench's LD_LIBRARY_PATH; PyTorch keeps its own cuBLAS and cuDNN. --seconds: no round begins later.
--check-on-cpu: the same code with small sizes on the CPU, and whether it is right; no figure of it means anything.

Exit code 1: hopbench was to be measured, and never was. 6: there is nothing to measure with. The last line on stderr
says why.
"""
import argparse
import contextlib
import gc
import itertools
import json
import os
import subprocess
import sys
import time


def tell(what, **values):
    print(json.dumps({"what": what, **values}), flush=True)


def give_up(reason):
    tell("skipped", part="PyTorch", reason=reason)
    print(reason, file=sys.stderr)
    sys.exit(6)


try:
    import torch
    from torch import nn
    from torch.nn import functional

    from peer_models import resnet32, vgg11
except ImportError as missing:
    give_up(f"there is no PyTorch ({missing}): install it, or name a python3 that has it in PYTHON")

HOPBENCH_WORK = "gradient"  # what hopbench's step is: the same of PyTorch stands beside it
FLOATS = 9_225_610  # of VGG-11: a vector of 36.9 MB
WARM_UP = 5


MODELS = {"vgg11": (vgg11, FLOATS), "resnet32": (resnet32, 464_154)}


def in_words(error):
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]


class Machine:
    """The GPU; or the CPU, where the code is tried."""

    def __init__(self, cpu):
        self.cpu = cpu
        self.device = torch.device("cpu" if cpu else "cuda:0")

    def wait(self):
        if not self.cpu:
            torch.cuda.synchronize()

    def wall_ms(self, run, times):
        spent = []
        for _ in range(times):
            self.wait()
            begin = time.perf_counter()
            run()
            self.wait()
            spent.append(1e3 * (time.perf_counter() - begin))
        return spent

    def event_ms(self, run, times):
        if self.cpu:
            return self.wall_ms(run, times)
        events = [torch.cuda.Event(enable_timing=True) for _ in range(times + 1)]
        events[0].record()
        for event in events[1:]:
            run()
            event.record()
        self.wait()
        return [a.elapsed_time(b) for a, b in zip(events, events[1:])]

    def free(self):
        gc.collect()
        if not self.cpu:
            torch.cuda.empty_cache()


def allow(precision):
    """fp32 is float throughout, as it is in hopbench: PyTorch's own default lets convolutions be TF32."""
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = precision == "tf32"


class Variant:
    """One way of training one model: ready and warm. Raises what PyTorch raises where it cannot."""

    def __init__(self, machine, name, batch, precision, channels_last, graph, work):
        self.machine, self.precision = machine, precision
        self.key = {"model": name, "batch": batch, "precision": precision, "layout": "NHWC" if channels_last else "NCHW",
                    "graph": graph, "work": work}
        torch.manual_seed(1)
        layout = torch.channels_last if channels_last else torch.contiguous_format
        self.model = MODELS[name][0]().to(machine.device, memory_format=layout).train()
        self.x = (torch.rand(batch, 3, 32, 32) * 2 - 1).to(machine.device).contiguous(memory_format=layout)
        self.labels = (torch.arange(batch) % 10).to(machine.device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9) if work == "step" else None
        self.run = self.eager
        self.loss = None
        allow(precision)
        if graph:
            self.capture()
        for _ in range(WARM_UP):
            self.run()
        machine.wait()

    def eager(self, new_gradients=True):
        if new_gradients:
            for parameter in self.model.parameters():
                parameter.grad = None
        # Weights are cast anew in each step; a cache would end with the scope anyway, and a graph could not have it.
        with contextlib.ExitStack() as scope:
            if self.precision == "bf16":
                scope.enter_context(torch.autocast(self.machine.device.type, dtype=torch.bfloat16, cache_enabled=False))
            self.loss = functional.cross_entropy(self.model(self.x), self.labels)
        self.loss.backward()
        if self.optimizer is not None:
            self.optimizer.step()

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UP):
                self.eager()
        torch.cuda.current_stream().wait_stream(side)
        for parameter in self.model.parameters():
            parameter.grad = None
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.eager(new_gradients=False)
        self.run = graph.replay

    def measure(self, steps):
        allow(self.precision)
        self.run()
        return {"event_ms": self.machine.event_ms(self.run, steps), "wall_ms": self.machine.wall_ms(self.run, steps)}


def make_variants(machine, options, batch, precision):
    variants = []
    for name in options.models:
        for work in ("gradient",) if options.quick else ("gradient", "step"):
            for channels_last in (False, True):
                for graph in (True,) if options.quick and channels_last else (False, True):
                    key = {"model": name, "batch": batch, "precision": precision, "work": work,
                           "layout": "NHWC" if channels_last else "NCHW", "graph": graph}
                    if graph and machine.cpu:
                        tell("skipped", part="PyTorch", reason="the CPU has no CUDA graphs", **key)
                        continue
                    try:
                        variants.append(Variant(machine, name, batch, precision, channels_last, graph, work))
                    except RuntimeError as error:
                        tell("skipped", part="PyTorch", reason=in_words(error), **key)
    return variants


def hopbench_turn(program, libraries, models, batch, precision, steps):
    """One run of `hopbench bench compute`: its JSON. The one place that knows how it is called."""
    command = [program, "bench", "compute", "--json", "--backend", "cuda", "--precision", precision, "--batch", str(batch),
               "--repeats", str(steps)]
    command += (["--no-vectors"] if models else []) + [word for model in models or ["none"] for word in ("--model", model)]
    environment = {**os.environ, "LD_LIBRARY_PATH": libraries} if libraries else None
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        words = [line for line in run.stderr.splitlines() if line.strip()]
        raise RuntimeError(f"hopbench: exit code {run.returncode}: {words[-1] if words else 'no word'}")
    return json.loads(run.stdout)


class Hopbench:
    """Its turns; what it cannot do is told once."""

    def __init__(self, program, libraries):
        self.program, self.libraries, self.failed, self.turns = program, libraries, {}, 0

    def turn(self, models, batch, precision, steps, handle):
        if self.program is None or (batch, precision) in self.failed:
            return
        try:
            handle(hopbench_turn(self.program, self.libraries, models, batch, precision, steps))
            self.turns += 1
        except (RuntimeError, OSError, ValueError, KeyError) as error:
            self.failed[batch, precision] = in_words(error)
            tell("skipped", part="hopbench", batch=batch, precision=precision, reason=in_words(error))

    def steps(self, models, batch, precision, steps, number):
        def handle(answer):
            for bench in answer["models"]:
                key = {"model": bench["model"], "batch": batch, "precision": precision}
                theirs = MODELS[bench["model"]][1]
                if bench.get("skipped"):
                    tell("skipped", part="hopbench", reason=bench["skipped"], **key)
                elif bench["parameters"] != theirs:
                    tell("skipped", part="hopbench", reason=f"{bench['parameters']} parameters, {theirs} in PyTorch", **key)
                else:
                    tell("hopbench", work=HOPBENCH_WORK, round=number, wall_ms=[1e3 * s for s in bench["step"]["seconds"]], **key)
        self.turn(models, batch, precision, steps, handle)

    def vectors(self, steps, number):
        def handle(answer):
            for row in answer["bandwidth"]["operations"]:
                tell("hopbench memory", operation=row["operation"], round=number, rates=row["rates"])
        self.turn([], 1, "fp32", steps, handle)


def tell_clocks(machine):
    if machine.cpu:
        return
    names = ["clocks.sm", "clocks.mem", "temperature.gpu", "power.draw"]
    with contextlib.suppress(OSError, subprocess.SubprocessError, ValueError):
        run = subprocess.run(["nvidia-smi", "-i", "0", "--format=csv,noheader,nounits", "--query-gpu=" + ",".join(names)],
                             capture_output=True, text=True, check=True, timeout=10)
        tell("clocks", **{name: float(part) for name, part in zip(names, run.stdout.strip().split(","))})


def measure_steps(machine, options, hopbench, end):
    """Everything once before anything twice, so that little time does not go to one precision alone."""
    for rounds in (range(1), range(1, options.rounds)):
        for batch, precision in itertools.product(options.batches, options.precisions):
            if not rounds:
                continue
            if time.monotonic() > end:
                tell("skipped", part="all", batch=batch, precision=precision, reason=f"no time was left for round {rounds[0]}")
                continue
            variants = make_variants(machine, options, batch, precision)
            for number in rounds:
                if number > rounds[0] and time.monotonic() > end:
                    break
                hopbench.steps(options.models, batch, precision, options.steps, number)
                for at in range(len(variants)):  # in another order each round
                    variant = variants[(at + number) % len(variants)]
                    tell("PyTorch", round=number, **variant.key, **variant.measure(options.steps))
                tell_clocks(machine)
            del variants
            machine.free()


def memory_operations(machine, scale):
    """Name, bytes that must be read and written (by the GPU's memory, or across the bus), and what does it."""
    large, vector = (256 << 20) // 4 // scale, FLOATS // scale
    make = lambda n: torch.rand(n, device=machine.device)
    host = lambda n: torch.rand(n, pin_memory=not machine.cpu)
    operations = []
    for name, n in (("256 MiB", large), ("36.9 MB", vector)):
        a, b, pinned = make(n), make(n), host(n)
        operations.append((f"copy, {name}", 8 * n, lambda a=a, b=b: a.copy_(b)))
        operations.append((f"host to device, pinned, {name}", 4 * n, lambda a=a, p=pinned: a.copy_(p, non_blocking=True)))
        operations.append((f"device to host, pinned, {name}", 4 * n, lambda a=a, p=pinned: p.copy_(a, non_blocking=True)))
    y, terms = make(vector), [make(vector) for _ in range(4)]

    def by_additions():
        torch.add(terms[0], terms[1], out=y)
        y.add_(terms[2]).add_(terms[3]).mul_(0.25)

    operations.append(("mean of 4, 36.9 MB, additions", 20 * vector, by_additions))
    operations.append(("mean of 4, 36.9 MB, stack", 20 * vector, lambda: torch.mean(torch.stack(terms), 0, out=y)))
    for way in ("foreach", "fused"):
        try:
            operations.append((f"SGD with momentum, VGG-11, {way}", 20 * FLOATS, sgd_step(machine, way)))
        except (RuntimeError, TypeError) as error:
            tell("skipped", part="PyTorch", operation=f"SGD with momentum, VGG-11, {way}", reason=in_words(error))
    return operations


def sgd_step(machine, way):
    parameters = [nn.Parameter(p.detach().to(machine.device)) for p in vgg11().parameters()]
    for parameter in parameters:
        parameter.grad = torch.rand_like(parameter)
    optimizer = torch.optim.SGD(parameters, lr=1e-6, momentum=0.9, **{way: True})
    optimizer.step()
    return optimizer.step


def measure_memory(machine, options, hopbench, end):
    operations = memory_operations(machine, scale=1000 if machine.cpu else 1)
    for _, _, run in operations:
        for _ in range(WARM_UP):
            run()
    for number in range(options.rounds):
        if number > 0 and time.monotonic() > end:
            break
        hopbench.vectors(options.steps, number)
        for name, size, run in operations:
            tell("memory", operation=name, bytes=size, round=number, event_ms=machine.event_ms(run, options.steps))
        tell_clocks(machine)
    machine.free()


def ipc_child(cpu, inbox, outbox, steps):
    """Copies a vector of the other process to one of its own."""
    try:
        machine, theirs = Machine(cpu), inbox.get(timeout=60)
        mine = torch.empty_like(theirs)
        for _ in range(WARM_UP):
            mine.copy_(theirs)
        times = machine.event_ms(lambda: mine.copy_(theirs), steps)
        outbox.put({"works": bool((mine == 7).all()), "bytes": 8 * theirs.numel(), "event_ms": times})
        del theirs
    except Exception as error:  # whatever it is, it is the answer
        outbox.put({"works": False, "reason": in_words(error)})


def measure_ipc(machine, options):
    answer = {"works": False, "reason": "no answer within 90 s"}
    child = None
    try:
        processes = torch.multiprocessing.get_context("spawn")
        inbox, outbox = processes.Queue(), processes.Queue()
        child = processes.Process(target=ipc_child, args=(machine.cpu, inbox, outbox, options.steps), daemon=True)
        child.start()
        vector = torch.full((FLOATS // (1000 if machine.cpu else 1),), 7.0, device=machine.device)
        machine.wait()
        inbox.put(vector)
        answer = outbox.get(timeout=90)
    except Exception as error:  # a queue that stays empty, a driver that refuses
        answer["reason"] = in_words(error) if str(error) else answer["reason"]
    if child is not None:
        child.join(10)
        if child.is_alive():
            child.kill()
    tell("ipc", **answer)
    return answer


def check_on_cpu(machine):
    """What the figures rest on: the nets are those of hopbench, layouts and precisions compute the same, steps learn."""
    for name, (make, parameters) in MODELS.items():
        assert sum(p.numel() for p in make().parameters()) == parameters, name
        losses = {}
        for precision in ("fp32", "bf16"):
            for channels_last in (False, True):
                variant = Variant(machine, name, 4, precision, channels_last, False, "gradient")
                losses[precision, channels_last] = variant.loss.item()
        reference = losses["fp32", False]
        assert abs(losses["fp32", True] - reference) < 1e-4 * reference, losses
        assert abs(losses["bf16", False] - reference) < 0.05 * reference, losses
        variant = Variant(machine, name, 4, "fp32", False, False, "step")
        first = variant.loss.item()
        for _ in range(10):
            variant.run()
        assert variant.loss.item() < first, (name, first, variant.loss.item())
    assert len(machine.event_ms(lambda: None, 3)) == 3


def main():
    parser = argparse.ArgumentParser(prog="ci/peers/gpu_peer.py")
    words = lambda text: text.split(",")
    parser.add_argument("--hopbench")
    parser.add_argument("--libraries")
    parser.add_argument("--models", type=words, default=list(MODELS))
    parser.add_argument("--batches", type=lambda text: [int(part) for part in text.split(",")], default=[128, 1024])
    parser.add_argument("--precisions", type=words, default=["bf16", "tf32", "fp32"])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--deterministic", action="store_true")
    parser.add_argument("--check-on-cpu", action="store_true")
    options = parser.parse_args()
    for name in options.models:
        if name not in MODELS:
            parser.error(f"no model {name}: known are {', '.join(MODELS)}")
    if options.check_on_cpu:
        options.batches, options.rounds, options.steps = [2], 2, 2
        torch.set_num_threads(1)
    elif not torch.cuda.is_available():
        give_up(f"PyTorch {torch.__version__} sees no GPU")
    machine, end = Machine(options.check_on_cpu), time.monotonic() + options.seconds
    torch.backends.cudnn.benchmark = not options.deterministic
    torch.backends.cudnn.deterministic = options.deterministic
    tell("context", torch=torch.__version__, cuda=torch.version.cuda, cudnn=torch.backends.cudnn.version(),
         gpu=None if machine.cpu else torch.cuda.get_device_name(0), rounds=options.rounds, steps=options.steps,
         deterministic=options.deterministic, cpu=machine.cpu)
    if machine.cpu:
        check_on_cpu(machine)
    hopbench = Hopbench(options.hopbench, options.libraries)
    measure_memory(machine, options, hopbench, end)
    measure_steps(machine, options, hopbench, end)
    ipc = measure_ipc(machine, options)
    if machine.cpu:
        assert ipc["works"], ipc
        print("gpu_peer.py: the checks on the CPU passed", file=sys.stderr)
    if hopbench.failed and hopbench.turns == 0:
        sys.exit(f"hopbench was never measured: {next(iter(hopbench.failed.values()))}")


if __name__ == "__main__":
    main()
