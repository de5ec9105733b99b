import torch
import torch.nn as nn
from torch.autograd import Variable

seq_length = 30


class GRUPredictor(nn.Module):
    def __init__(self, num_classes, input_size, hidden_size, num_layers):
        super(GRUPredictor, self).__init__()
        self.num_classes = num_classes
        self.num_layers = num_layers
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.gru = nn.GRU(input_size, hidden_size, num_layers, batch_first=True)
        self.fc = nn.Linear(hidden_size, num_classes)

    def forward(self, x):
        h_0 = Variable(torch.zeros(1, x.size(0), self.hidden_size, device=x.device))
        ula, h_out = self.gru(x, h_0)
        h_out = h_out[-1]
        out = self.fc(h_out)
        return out


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = GRUPredictor(num_classes=1, input_size=5, hidden_size=12, num_layers=2)

    def forward(self, x):
        return self.net(x)


def example_inputs():
    return (torch.randn(16, seq_length, 5),)
