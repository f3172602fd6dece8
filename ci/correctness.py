"""The peer of ci/correctness: the same models written in PyTorch, on what `hopbench bench losses` left in a folder.

correctness.py FOLDER LR MOMENTUM WEIGHT_DECAY MODEL...
"""
import sys
import numpy
import torch
from torch import nn
from torch.nn import functional

TOLERANCE = 1e-3  # relative, of the loss of every step


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


MODELS = {
    "lenet": (lenet, (1, 28, 28)), "vgg11": (vgg11, (3, 32, 32)), "alexnet_small": (alexnet_small, (3, 32, 32)),
    "resnet20": (lambda: resnet(3), (3, 32, 32)), "resnet32": (lambda: resnet(5), (3, 32, 32)),
    "resnet56": (lambda: resnet(9), (3, 32, 32)),
}


def losses_of(model, shape, folder, steps, lr, momentum, weight_decay, moved=0.0):
    """`moved`: relative, by how much the initial parameters are moved at random."""
    initial = torch.from_numpy(numpy.fromfile(folder + "/initial.f32", numpy.float32))
    torch.manual_seed(1)
    initial *= 1 + moved * torch.randn(initial.numel())
    assert sum(p.numel() for p in model.parameters()) == initial.numel(), "another number of parameters"
    nn.utils.vector_to_parameters(initial, model.parameters())  # a module's parameters come in the order of its layers
    inputs = torch.from_numpy(numpy.fromfile(folder + "/inputs.f32", numpy.float32)).reshape(steps, -1, *shape)
    labels = torch.from_numpy(numpy.fromfile(folder + "/labels.i32", numpy.int32)).long().reshape(steps, -1)
    optimizer = torch.optim.SGD(model.parameters(), lr, momentum, weight_decay=weight_decay)
    for x, y in zip(inputs, labels):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        yield loss.item()


def main():
    work, (lr, momentum, weight_decay), names = sys.argv[1], map(float, sys.argv[2:5]), sys.argv[5:]
    torch.set_num_threads(1)
    print(f"PyTorch {torch.__version__}, oneDNN through `hopbench bench losses`; lr {lr}, momentum {momentum}, "
          f"weight decay {weight_decay}.\n")
    print("| model | steps | batch | first loss | last loss | last loss in PyTorch | largest relative difference "
          "| PyTorch against itself |")
    print("|---|---|---|---|---|---|---|---|")
    failed = False
    for name in names:
        make, shape = MODELS[name]
        folder = f"{work}/{name}"
        ours = [float(line) for line in open(folder + "/losses.txt", encoding="ascii")]
        theirs, moved = (
            list(losses_of(make().train(), shape, folder, len(ours), lr, momentum, weight_decay, by)) for by in (0, 1e-7))
        batch = len(numpy.fromfile(folder + "/labels.i32", numpy.int32)) // len(ours)
        apart = [abs(a - b) / abs(b) for a, b in zip(ours, theirs)]
        chaos = max(abs(a - b) / abs(b) for a, b in zip(moved, theirs))
        failed = failed or not max(apart) <= TOLERANCE
        print(f"| {name} | {len(ours)} | {batch} | {ours[0]:.5f} | {ours[-1]:.5f} | {theirs[-1]:.5f} | {max(apart):.1e} "
              f"| {chaos:.1e} |", flush=True)
    if failed:
        sys.exit(f"ci/correctness: a loss differs by more than {TOLERANCE}")


if __name__ == "__main__":
    main()
