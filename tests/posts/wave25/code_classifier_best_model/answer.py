import copy
import random

import torch
import torch.nn as nn

random.seed(6)
torch.manual_seed(6)

EPOCHS = 25
BATCH_SIZE = 16
VOCAB = 60


class BatchProgramClassifier(nn.Module):
    def __init__(self, vocab_size, embedding_dim=32, hidden_dim=64, label_size=4):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_dim)
        self.bigru = nn.GRU(embedding_dim, hidden_dim, bidirectional=True, batch_first=True)
        self.hidden2label = nn.Linear(2 * hidden_dim, label_size)

    def forward(self, programs):
        out, _ = self.bigru(self.embedding(programs))
        return self.hidden2label(out.max(dim=1)[0])


def make_programs(n, noise=0.35, length=30):
    labels = torch.randint(0, 4, (n,))
    tokens = torch.randint(8, VOCAB, (n, length))
    for i in range(n):
        for k in random.sample(range(length), 3):
            tokens[i, k] = 2 * labels[i] + random.randint(0, 1)
    shown = labels.clone()
    flip = torch.rand(n) < noise
    shown[flip] = torch.randint(0, 4, (int(flip.sum()),))
    return tokens, shown


def run_epoch(model, data, loss_function, optimizer=None):
    tokens, labels = data
    model.train(optimizer is not None)
    order = torch.randperm(len(labels)) if optimizer is not None else torch.arange(len(labels))
    total_loss, total_acc = 0.0, 0
    with torch.set_grad_enabled(optimizer is not None):
        for i in range(0, len(labels), BATCH_SIZE):
            idx = order[i:i + BATCH_SIZE]
            output = model(tokens[idx])
            loss = loss_function(output, labels[idx])
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total_loss += loss.item() * len(idx)
            total_acc += (output.argmax(1) == labels[idx]).sum().item()
    return total_loss / len(labels), total_acc / len(labels)


if __name__ == "__main__":
    train_data, val_data, test_data = make_programs(240), make_programs(400), make_programs(400)
    model = BatchProgramClassifier(VOCAB)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    loss_function = nn.CrossEntropyLoss()
    best_acc, best_model = 0.0, None
    for epoch in range(EPOCHS):
        train_loss, train_acc = run_epoch(model, train_data, loss_function, optimizer)
        val_loss, val_acc = run_epoch(model, val_data, loss_function)
        if val_acc > best_acc:
            best_acc = val_acc
            best_model = copy.deepcopy(model)
        if epoch % 4 == 0:
            print("[Epoch: %3d/%3d] Training Loss: %.4f, Validation Loss: %.4f, Training Acc: %.3f, Validation Acc: %.3f"
                  % (epoch + 1, EPOCHS, train_loss, val_loss, train_acc, val_acc))
    model = best_model
    val_loss, val_acc = run_epoch(model, val_data, loss_function)
    test_loss, test_acc = run_epoch(model, test_data, loss_function)
    print("best validation accuracy %.3f, of the chosen model %.3f" % (best_acc, val_acc))
    print("Testing results(Acc): %.3f loss %.3f" % (test_acc, test_loss))
