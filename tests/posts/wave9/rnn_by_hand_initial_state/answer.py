import torch
import torch.nn as nn

# a very simple recurrent network, to recalculate by hand what pytorch does
i_data = torch.arange(1, 10).reshape((9, 1)).float()

rnn = nn.RNN(1, 1, 1, batch_first=False)  # input_size, hidden_size, num_layers

state_dict = rnn.state_dict()
state_dict["weight_ih_l0"] = torch.tensor([[0.2]])
state_dict["weight_hh_l0"] = torch.tensor([[0.3]])
state_dict["bias_ih_l0"] = torch.tensor([0.4])
state_dict["bias_hh_l0"] = torch.tensor([0.5])
rnn.load_state_dict(state_dict)


def by_hand(x, h):
    out = []
    for x_t in x.flatten():
        h = torch.tanh(0.2 * x_t + 0.4 + 0.3 * h + 0.5)
        out.append(h)
    return torch.stack(out)


hidden_state = torch.zeros(1, 1, dtype=torch.float32)
with torch.no_grad():
    y, hidden_state = rnn(i_data, hidden_state)

print("pytorch:", y.flatten())
print("by hand:", by_hand(i_data, torch.tensor(0.0)))
print("last hidden state:", hidden_state)

# and now let it learn the next number of the series
fc = nn.Linear(1, 1)
optimizer = torch.optim.Adam(list(rnn.parameters()) + list(fc.parameters()), lr=0.05)
target = i_data[1:] / 10
for epoch in range(100):
    out, _ = rnn(i_data[:-1] / 10)
    loss = nn.functional.mse_loss(fc(out), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss:", loss.item())
