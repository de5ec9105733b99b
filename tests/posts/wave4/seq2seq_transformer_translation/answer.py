import random
import torch
import torch.nn as nn
import torch.optim as optim

SEED = 1234
random.seed(SEED)
torch.manual_seed(SEED)
device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')

BATCH_SIZE = 16
INPUT_DIM, OUTPUT_DIM = 780, 590
HID_DIM, N_HEADS, PF_DIM, N_LAYERS = 64, 4, 128, 2
SRC_PAD_IDX = TRG_PAD_IDX = 1


def bucket_iterator(n_batches=5):
    lengths = [(14, 12), (33, 29), (61, 58), (94, 88), (118, 109)]
    for src_len, trg_len in lengths[:n_batches]:
        src = torch.randint(2, INPUT_DIM, (BATCH_SIZE, src_len))
        trg = torch.randint(2, OUTPUT_DIM, (BATCH_SIZE, trg_len))
        src[: BATCH_SIZE // 2, -3:] = SRC_PAD_IDX
        yield src.to(device), trg.to(device)


class Encoder(nn.Module):
    def __init__(self, input_dim, hid_dim, n_layers, n_heads, pf_dim, dropout, max_length=512):
        super().__init__()
        self.tok_embedding = nn.Embedding(input_dim, hid_dim)
        self.pos_embedding = nn.Embedding(max_length, hid_dim)
        self.layers = nn.ModuleList(
            [nn.TransformerEncoderLayer(hid_dim, n_heads, pf_dim, dropout, batch_first=True) for _ in range(n_layers)])
        self.dropout = nn.Dropout(dropout)
        self.scale = hid_dim ** 0.5

    def forward(self, src, src_mask):
        batch_size, src_len = src.shape
        pos = torch.arange(0, src_len, device=src.device).unsqueeze(0).repeat(batch_size, 1)
        src = self.dropout(self.tok_embedding(src) * self.scale + self.pos_embedding(pos))
        for layer in self.layers:
            src = layer(src, src_key_padding_mask=src_mask)
        return src


class Decoder(nn.Module):
    def __init__(self, output_dim, hid_dim, n_layers, n_heads, pf_dim, dropout, max_length=512):
        super().__init__()
        self.tok_embedding = nn.Embedding(output_dim, hid_dim)
        self.position = nn.Embedding(max_length, hid_dim)
        self.layers = nn.ModuleList(
            [nn.TransformerDecoderLayer(hid_dim, n_heads, pf_dim, dropout, batch_first=True) for _ in range(n_layers)])
        self.fc_out = nn.Linear(hid_dim, output_dim)

    def forward(self, trg, enc_src, src_mask):
        trg_len = trg.shape[1]
        causal = torch.ones(trg_len, trg_len, device=trg.device).triu(1).bool()
        x = self.tok_embedding(trg) + self.position.weight[:trg_len]
        for layer in self.layers:
            x = layer(x, enc_src, tgt_mask=causal, memory_key_padding_mask=src_mask)
        return self.fc_out(x)


enc = Encoder(INPUT_DIM, HID_DIM, N_LAYERS, N_HEADS, PF_DIM, 0.1).to(device)
dec = Decoder(OUTPUT_DIM, HID_DIM, N_LAYERS, N_HEADS, PF_DIM, 0.1).to(device)
optimizer = optim.Adam(list(enc.parameters()) + list(dec.parameters()), lr=5e-4)
criterion = nn.CrossEntropyLoss(ignore_index=TRG_PAD_IDX)

for epoch in range(2):
    epoch_loss = 0
    for i, (src, trg) in enumerate(bucket_iterator()):
        optimizer.zero_grad()
        mask = src == SRC_PAD_IDX
        output = dec(trg[:, :-1], enc(src, mask), mask)
        loss = criterion(output.contiguous().view(-1, OUTPUT_DIM), trg[:, 1:].contiguous().view(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(enc.parameters()) + list(dec.parameters()), 1)
        optimizer.step()
        epoch_loss += loss.item()
    print(f'Epoch: {epoch + 1:02} | Train Loss: {epoch_loss / (i + 1):.3f}')
