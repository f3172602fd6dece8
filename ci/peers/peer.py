# PyTorch's side of ci/peer, and the taking of turns.
import argparse
import json
import os
import statistics
import subprocess
import time

import torch
from torch import nn
from torch.nn import functional

from peer_models import resnet32, vgg11


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


MODELS = {"lenet": (lenet, (1, 28, 28)), "vgg11": (vgg11, (3, 32, 32)), "resnet32": (resnet32, (3, 32, 32))}


def torch_steps(model, x, labels, threads, steps):
    clock = time.process_time if threads == 1 else time.perf_counter
    times = []
    for _ in range(steps + 1):
        begin = clock()
        for parameter in model.parameters():
            parameter.grad = None
        functional.cross_entropy(model(x), labels).backward()
        times.append(clock() - begin)
    return times[1:]


def hopbench_steps(name, batch, threads, steps):
    command = [os.environ["HOPBENCH"], "bench", "compute", "--json", "--no-vectors", "--model", name, "--batch", str(batch),
               "--threads", str(threads), "--repeats", str(steps)]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    bench = json.loads(run.stdout)["models"][0]
    if bench["skipped"]:
        raise SystemExit(f"ci/peer: hopbench left {name} out: {bench['skipped']}")
    return bench


def quartiles(values):
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return f"{middle:.3g} ({low:.3g} .. {high:.3g})"


def compare(name, batch, threads, options):
    make, shape = MODELS[name]
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model, x = make(), torch.rand(batch, *shape) * 2 - 1
    labels = torch.arange(batch) % 10
    parameters = sum(p.numel() for p in model.parameters())
    ours, theirs, ratios = [], [], []
    for _ in range(options.rounds):
        bench = hopbench_steps(name, batch, threads, options.steps)
        if bench["parameters"] != parameters:
            raise SystemExit(f"ci/peer: {name} has {bench['parameters']} parameters in hopbench, {parameters} in PyTorch")
        peer = torch_steps(model, x, labels, threads, options.steps)
        ours.append(1e3 * statistics.median(bench["step"]["seconds"]))
        theirs.append(1e3 * statistics.median(peer))
        ratios.append(theirs[-1] / ours[-1])
    return {"model": name, "batch": batch, "threads": threads, "hopbench_ms": ours, "pytorch_ms": theirs, "ratios": ratios}


def main():
    parser = argparse.ArgumentParser(prog="ci/peer")
    numbers = lambda text: [int(part) for part in text.split(",")]
    parser.add_argument("--models", type=lambda text: text.split(","), default=None)
    parser.add_argument("--batches", type=numbers, default=None)
    parser.add_argument("--threads", type=numbers, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="JSON instead of the table (docs/figures.md)")
    options = parser.parse_args()
    listed = subprocess.run([os.environ["HOPBENCH"], "list", "models"], check=True, capture_output=True, text=True).stdout
    known = [line.split()[0] for line in listed.splitlines() if line.strip()]
    rows = []
    if not options.json:
        print(f"PyTorch {torch.__version__}, medians and quartiles of {options.rounds} rounds of {options.steps} steps\n")
        print("| model | batch | threads | hopbench, ms | PyTorch, ms | PyTorch / hopbench |\n|---|---|---|---|---|---|")
    for name in options.models or [m for m in MODELS if m in known]:
        if name not in MODELS:
            raise SystemExit(f"ci/peer: no model {name}: known are {', '.join(MODELS)}")
        for batch in options.batches or ([32] if name == "lenet" else [32, 128]):
            for threads in options.threads:
                row = compare(name, batch, threads, options)
                rows.append(row)
                if not options.json:
                    print(f"| {name} | {batch} | {threads} | " + " | ".join(
                        quartiles(row[column]) for column in ("hopbench_ms", "pytorch_ms", "ratios")) + " |", flush=True)
    if options.json:
        print(json.dumps({"pytorch": torch.__version__, "rows": rows}, indent=1))


main()
