"""The peer of ci/correctness: the same models written in PyTorch, on what `hopbench bench losses` left in FOLDER/MODEL.

correctness.py steps|curves FOLDER MODEL...
"""
import itertools
import json
import sys
import numpy
import torch
from torch import nn
from torch.nn import functional

TOLERANCE = 1e-3  # relative, of the loss of every step
WINDOW = 25  # steps of which a curve shows the mean
YARDSTICK = 2  # a curve may differ from PyTorch's by so many times what PyTorch's own runs differ by


class Block(nn.Module):
    """Of a ResNet for CIFAR, with a shortcut of option A."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.stride, self.zeros = stride, (outputs - inputs) // 2

    def forward(self, x):
        y = self.norm2(self.conv2(functional.relu(self.norm1(self.conv1(x)))))
        shortcut = functional.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, self.zeros, self.zeros))
        return functional.relu(y + shortcut)


def resnet(n):
    layers = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
    inputs = 16
    for outputs in (16, 32, 64):
        for block in range(n):
            layers.append(Block(inputs, outputs, 2 if block == 0 and outputs > 16 else 1))
            inputs = outputs
    return nn.Sequential(*layers, nn.AvgPool2d(8), nn.Flatten(), nn.Linear(64, 10))


def vgg11():
    layers, inputs = [], 3
    for outputs in (64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0):
        if outputs == 0:
            layers.append(nn.MaxPool2d(2))
        else:
            layers += [nn.Conv2d(inputs, outputs, 3, 1, 1), nn.ReLU()]
            inputs = outputs
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(512, 10))


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, 1, 2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


def alexnet_small():
    layers, inputs = [], 3
    for outputs in (32, 32, 64):
        layers += [nn.Conv2d(inputs, outputs, 5, 1, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
        inputs = outputs
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(1024, 64), nn.ReLU(), nn.Linear(64, 10))


class Linear(nn.Module):
    """A linear model on sparse rows; its loss is the hinge loss of a support vector machine."""

    def __init__(self, columns):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.empty(columns)), nn.Parameter(torch.empty(1))

    def forward(self, x):
        return torch.sparse.mm(x, self.weight[:, None])[:, 0] + self.bias


def hinge(margins, labels):
    return functional.relu(1 - (2 * labels - 1) * margins).mean()


MODELS = {
    "lenet": (lenet, (1, 28, 28)), "vgg11": (vgg11, (3, 32, 32)), "alexnet_small": (alexnet_small, (3, 32, 32)),
    "resnet20": (lambda: resnet(3), (3, 32, 32)), "resnet32": (lambda: resnet(5), (3, 32, 32)),
    "resnet56": (lambda: resnet(9), (3, 32, 32)),
}


class Run:
    """What hopbench left of a run, and the same run in PyTorch."""

    def __init__(self, folder, name):
        self.folder, self.name = f"{folder}/{name}", name
        with open(self.folder + "/settings.json", encoding="ascii") as file:
            self.settings = json.load(file)
        with open(self.folder + "/losses.txt", encoding="ascii") as file:
            self.ours = [float(line) for line in file]
        assert len(self.ours) == self.settings["steps"]
        assert name == "linear_svm" or MODELS[name][1] == tuple(self.settings["shape"])

    def read(self, file, kind):
        return torch.from_numpy(numpy.fromfile(f"{self.folder}/{file}", kind))

    def model(self):
        return Linear(self.settings["shape"][2]) if self.name == "linear_svm" else MODELS[self.name][0]()

    def batches(self):
        """Inputs and labels of each step."""
        steps, values = self.settings["steps"], self.read("inputs.f32", numpy.float32)
        labels = self.read("labels.i32", numpy.int32).long().reshape(steps, -1)
        if self.name != "linear_svm":
            return zip(values.reshape(steps, -1, *MODELS[self.name][1]), labels)
        lengths = self.read("lengths.u32", numpy.int32).long().reshape(steps, -1)
        columns = self.read("columns.u32", numpy.int32).long()
        inputs, at = [], 0
        for rows in lengths:
            end = at + int(rows.sum())
            places = torch.stack([torch.repeat_interleave(torch.arange(len(rows)), rows), columns[at:end]])
            inputs.append(torch.sparse_coo_tensor(places, values[at:end], (len(rows), self.settings["shape"][2])))
            at = end
        return zip(inputs, labels)

    def theirs(self, moved=0.0, threads=1):
        """`moved`: relative, by how much the initial parameters are moved at random."""
        torch.set_num_threads(threads)
        torch.manual_seed(1)
        settings, loss_of = self.settings, hinge if self.name == "linear_svm" else functional.cross_entropy
        initial = self.read("initial.f32", numpy.float32)
        initial *= 1 + moved * torch.randn(initial.numel())
        model = self.model().train()
        assert sum(p.numel() for p in model.parameters()) == initial.numel(), "another number of parameters"
        nn.utils.vector_to_parameters(initial, model.parameters())  # a module's parameters come in the order of its layers
        optimizer = torch.optim.SGD(model.parameters(), settings["lr"], settings["momentum"],
                                    weight_decay=settings["weight_decay"])
        losses = []
        for x, y in self.batches():
            optimizer.zero_grad()
            loss = loss_of(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses


def apart(losses, reference):
    return [abs(a - b) / abs(b) for a, b in zip(losses, reference)]


def steps(runs):
    """One row a model. Returns what is wrong with the losses of single steps."""
    print("| model | lr | steps | batch | first loss | last loss | last loss in PyTorch | largest relative difference "
          "| PyTorch against itself |")
    print("|---|---|---|---|---|---|---|---|---|")
    failures = []
    for run in runs:
        theirs = run.theirs()
        ours, own = apart(run.ours, theirs), apart(run.theirs(moved=1e-7), theirs)
        if not all(a <= TOLERANCE for a in ours):  # nor if one is NaN
            failures.append(f"{run.name}: a loss differs by more than {TOLERANCE}")
        print(f"| {run.name} | {run.settings['lr']} | {len(run.ours)} | {run.settings['batch']} | {run.ours[0]:.5f} "
              f"| {run.ours[-1]:.5f} | {theirs[-1]:.5f} | {max(ours):.1e} | {max(own):.1e} |", flush=True)
    return failures


def smoothed(losses):
    return [float(numpy.mean(losses[i:i + WINDOW])) for i in range(0, len(losses), WINDOW)]


def print_row(title, cells):
    print(f"| {title} | " + " | ".join(cells) + " |")


def curve(run):
    """A table of one model's smoothed losses. Returns what is wrong with them."""
    s = run.settings
    print(f"{run.name} on {s['dataset']}: {s['steps']} steps of {s['batch']}, lr {s['lr']}; means of {WINDOW} steps\n")
    theirs = run.theirs()
    others = {"hopbench": run.ours, "PyTorch, 2 threads": run.theirs(threads=2), "PyTorch, moved by 1e-7": run.theirs(moved=1e-7)}
    reference, means = smoothed(theirs), {name: smoothed(losses) for name, losses in others.items()}
    print_row("steps", ["PyTorch", *others])
    print("|" + "---|" * (2 + len(others)))
    for i, row in enumerate(zip(reference, *means.values())):
        print_row(f"{i * WINDOW + 1} to {min((i + 1) * WINDOW, len(theirs))}", [f"{mean:.4f}" for mean in row])
    differ = {name: apart(mean, reference) for name, mean in means.items()}
    print_row("largest relative difference from PyTorch", ["", *(f"{max(values):.1e}" for values in differ.values())])
    first = {name: next((i for i, a in enumerate(apart(losses, theirs)) if not a <= 0.01), "all") for name, losses in others.items()}
    print_row("steps before a single loss differs by 1 %", ["", *map(str, first.values())])
    print(flush=True)
    ours, *own = differ.values()
    own = max(map(max, own))
    if all(a <= max(YARDSTICK * own, TOLERANCE) for a in ours):
        return []
    return [f"{run.name}: smoothed losses differ by {max(ours):.2g}, those of PyTorch's own runs by {own:.2g}"]


def main():
    what, work, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    runs = [Run(work, name) for name in names]
    s = runs[0].settings
    print(f"PyTorch {torch.__version__}, oneDNN through `hopbench bench losses`; momentum {s['momentum']}, "
          f"weight decay {s['weight_decay']}.\n")
    failures = steps(runs) if what == "steps" else [failure for run in runs for failure in curve(run)]
    if failures:
        sys.exit("ci/correctness: " + "; ".join(failures))


if __name__ == "__main__":
    main()
