"""The networks of models/ in PyTorch. A module's parameters come in the order of hopbench's layers."""
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    """Two convolutions and a shortcut without parameters: option A of He, Zhang, Ren, Sun (2016)."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.stride, self.zeros = stride, (outputs - inputs) // 2

    def forward(self, x):
        y = self.norm2(self.conv2(functional.relu(self.norm1(self.conv1(x)))))
        if self.stride > 1:
            x = functional.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, self.zeros, self.zeros))
        return functional.relu(y + x)


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


# Makes a network, and the shape of its inputs.
NETWORKS = {
    "lenet": (lenet, (1, 28, 28)), "vgg11": (vgg11, (3, 32, 32)), "alexnet_small": (alexnet_small, (3, 32, 32)),
    "resnet20": (lambda: resnet(3), (3, 32, 32)), "resnet32": (lambda: resnet(5), (3, 32, 32)),
    "resnet56": (lambda: resnet(9), (3, 32, 32)),
}
