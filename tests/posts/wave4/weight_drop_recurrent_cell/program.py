import torch
import torch.nn as nn
import torch.nn.functional as F


class WeightDrop(nn.Module):
    """DropConnect on the named weights of a recurrent module (Merity et al., 2017)."""

    def __init__(self, module, weights, dropout=0.0):
        super().__init__()
        self.module = module
        self.weights = weights
        self.dropout = dropout
        for name in weights:
            w = getattr(module, name)
            del module._parameters[name]
            self.register_parameter(name + '_raw', nn.Parameter(w.data))

    def _set_weights(self):
        for name in self.weights:
            raw = getattr(self, name + '_raw')
            setattr(self.module, name, F.dropout(raw, p=self.dropout, training=self.training))

    def forward(self, *args):
        self._set_weights()
        return self.module(*args)


torch.manual_seed(12)

# a GRU cell first
weight_drop_gru = WeightDrop(nn.GRUCell(256, 512), ['weight_hh'], dropout=0.5)
input_ = torch.randn(1, 256)
hidden_state = torch.randn(1, 512)
out = weight_drop_gru(input_, hidden_state)
print('gru', out.shape)

# then the same with an LSTM cell
weight_drop_lstm = WeightDrop(nn.LSTMCell(256, 512), ['weight_hh'], dropout=0.5)
state = torch.randn(1, 512)
out = weight_drop_lstm(input_, state)
h = out[0]
print('lstm', h.shape)

# one step of training
decoder = nn.Linear(512, 40)
params = list(weight_drop_lstm.parameters()) + list(decoder.parameters())
optimizer = torch.optim.SGD(params, lr=1.0)
loss = F.cross_entropy(decoder(h), torch.tensor([7]))
optimizer.zero_grad()
loss.backward()
nn.utils.clip_grad_norm_(params, 0.25)
optimizer.step()
print('loss', loss.item())
