# The networks of ci/peer and ci/gpu in PyTorch: as models/ has them.
from torch import nn
from torch.nn import functional


def vgg11():
    layers, channels = [], 3
    for outputs in (64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0):
        if outputs == 0:
            layers.append(nn.MaxPool2d(2))
            continue
        layers += [nn.Conv2d(channels, outputs, 3, padding=1), nn.ReLU()]
        channels = outputs
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(512, 10))


class Residual(nn.Module):
    """Two convolutions and a shortcut without parameters: option A of He, Zhang, Ren, Sun (2016)."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.stride = 1 if inputs == outputs else 2
        self.zeros = (outputs - inputs) // 2
        self.first = nn.Conv2d(inputs, outputs, 3, stride=self.stride, padding=1, bias=False)
        self.second = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)])

    def forward(self, x):
        y = functional.relu(self.norms[0](self.first(x)))
        y = self.norms[1](self.second(y))
        if self.stride > 1:
            x = functional.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.zeros, self.zeros))
        return functional.relu(x + y)


def resnet32():
    layers = [nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
    channels = 16
    for outputs in (16, 32, 64):
        for _ in range(5):
            layers.append(Residual(channels, outputs))
            channels = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
