import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

# songs in ABC notation
songs = ['X:1\nT:Reel %d\nM:C\nK:D\n' % i + ''.join(np.random.RandomState(i).choice(list('ABcdefgA2 |'), 120)) for i in range(30)]
songs_joined = '\n\n'.join(songs)
vocab = sorted(set(songs_joined))
char2idx = {u: i for i, u in enumerate(vocab)}
idx2char = np.array(vocab)


def vectorize_string(string):
    return np.array([char2idx[c] for c in string])


def get_batch(vectorized_songs, seq_length, batch_size):
    n = vectorized_songs.shape[0] - 1
    idx = np.random.choice(n - seq_length, batch_size)
    input_batch = [vectorized_songs[i:i + seq_length] for i in idx]
    output_batch = [vectorized_songs[i + 1:i + seq_length + 1] for i in idx]
    x_batch = torch.tensor(np.array(input_batch), dtype=torch.long)
    y_batch = torch.tensor(np.array(output_batch), dtype=torch.long)
    return x_batch, y_batch


class LSTMModel(nn.Module):
    def __init__(self, vocab_size, embedding_dim, hidden_size):
        super().__init__()
        self.hidden_size = hidden_size
        # Layer 1: Embedding layer to transform indices into dense vectors
        self.embedding = nn.Embedding(vocab_size, embedding_dim)
        # Layer 2: LSTM with `hidden_size` units
        self.lstm = nn.LSTM(embedding_dim, hidden_size, batch_first=True)
        # Layer 3: Linear layer that transforms the LSTM output into the vocabulary
        self.fc = nn.Linear(hidden_size, vocab_size)

    def init_hidden(self, batch_size, device):
        return (torch.zeros(1, batch_size, self.hidden_size).to(device),
                torch.zeros(1, batch_size, self.hidden_size).to(device))

    def forward(self, x, state=None, return_state=False):
        x = self.embedding(x)
        if state is None:
            state = self.init_hidden(x.size(0), x.device)
        out, state = self.lstm(x, state)
        out = self.fc(out)
        return out if not return_state else (out, state)


device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
params = dict(num_training_iterations=20, batch_size=8, seq_length=50, learning_rate=5e-3,
              embedding_dim=64, hidden_size=128)
vectorized_songs = vectorize_string(songs_joined)
model = LSTMModel(len(vocab), params['embedding_dim'], params['hidden_size']).to(device)

x, y = get_batch(vectorized_songs, seq_length=50, batch_size=32)
pred = model(x.to(device))
print('Input shape:     ', x.shape, ' # (batch_size, sequence_length)')
print('Prediction shape:', pred.shape, '# (batch_size, sequence_length, vocab_size)')

cross_entropy = nn.CrossEntropyLoss()


def compute_loss(labels, logits):
    return cross_entropy(logits.reshape(-1, logits.size(-1)), labels.reshape(-1))


optimizer = optim.Adam(model.parameters(), lr=params['learning_rate'])
for it in range(params['num_training_iterations']):
    x_batch, y_batch = get_batch(vectorized_songs, params['seq_length'], params['batch_size'])
    optimizer.zero_grad()
    loss = compute_loss(y_batch.to(device), model(x_batch.to(device)))
    loss.backward()
    optimizer.step()
print('loss', loss.item())


def generate_text(model, start_string, generation_length=100):
    input_idx = torch.tensor([[char2idx[s] for s in start_string]], dtype=torch.long).to(device)
    state = model.init_hidden(input_idx.size(0), device)
    text_generated = []
    for _ in range(generation_length):
        predictions, state = model(input_idx, state, return_state=True)
        input_idx = torch.multinomial(torch.softmax(predictions[:, -1], dim=-1), num_samples=1)
        text_generated.append(idx2char[input_idx.item()])
    return start_string + ''.join(text_generated)


print(generate_text(model, start_string='X'))
