"""Mistakes for examples of text, graphs, series and games."""

from rehearsals.mistakes.mistake import Mistake

MISTAKES = {
    "word_language_model_transformer": (
        Mistake(
            "last batch",
            "min(args.bptt, len(source) - 1 - i)",
            "args.bptt",
            ("def train( ... criterion(output, targets)",),
        ),
        Mistake(
            "model",
            "torch.zeros(max_len, d_model)",
            "torch.zeros(max_len, d_model + 1)",
            ("pe[:, 0::2] =",),
            file="model.py",
        ),
        Mistake(
            "mask",
            "torch.ones(sz,sz)",
            "torch.ones(sz - 1, sz - 1)",
            ("self.encoder(src, mask",),
            file="model.py",
        ),
        Mistake(
            "update",
            "model.zero_grad()",
            "pass",
            ("loss.backward()", "p.data.add_("),
            "gradients-not-cleared",
        ),
        Mistake(
            "evaluation",
            "def evaluate( ... output.view(-1, ntokens)",
            "output",
            ("criterion(output, targets).item()",),
        ),
    ),
    "gcn": (
        Mistake(
            "data", "(V, V), dtype", "(V, V - 1), dtype", ("torch.eye(V) + adj_mat",)
        ),
        Mistake(
            "model",
            "GraphConv(hidden_dim,",
            "GraphConv(input_dim,",
            ("torch.mm(input_tensor, self.kernel)",),
        ),
        Mistake("loss", "target[mask_train]", "target"),
        Mistake(
            "optimizer",
            "optimizer.zero_grad()",
            "pass",
            ("loss.backward()", "optimizer.step()"),
            "gradients-not-cleared",
        ),
        Mistake(
            "evaluation",
            "output[mask], target[mask]",
            "output[mask], target",
            ("criterion(output, target)",),
        ),
    ),
    "gat": (
        Mistake("data", "sparse_coo_tensor(edges.T", "sparse_coo_tensor(edges"),
        Mistake(
            "model",
            "in_features=n_hidden,",
            "in_features=n_hidden * n_heads,",
            ("torch.mm(h, self.W)",),
        ),
        Mistake(
            "attention",
            "self.n_hidden).permute(1, 0, 2)",
            "self.n_hidden)",
            ("source_scores = torch.matmul(",),
        ),
        Mistake(
            "update",
            "loss.backward()",
            "pass",
            ("optimizer.step()", "optimizer = Adam("),
            "no-gradient",
        ),
        Mistake("evaluation", "argmax(dim=1)", "argmax(dim=0)"),
    ),
    "time_sequence_prediction": (
        Mistake("data", "data[3:, 1:]", "data[3:, 2:]", ("criterion(out, target)",)),
        Mistake(
            "model",
            "nn.LSTMCell(51, 51)",
            "nn.LSTMCell(1, 51)",
            ("in input.split( ... self.lstm2(h_t",),
        ),
        Mistake(
            "dtype", "seq.double()", "pass", ("in input.split( ... self.lstm1(input_t",)
        ),
        Mistake("optimizer", "optimizer.step(closure)", "optimizer.step()"),
        Mistake("evaluation", "pred[:, :-future]", "pred"),
    ),
    "reinforce": (
        Mistake(
            "data", ".float().unsqueeze(0)", ".float()", ("F.softmax(action_scores",)
        ),
        Mistake("model", "nn.Linear(4,", "nn.Linear(3,", ("self.affine1(x)",)),
        Mistake(
            "loss",
            "torch.cat(policy_loss).sum()",
            "torch.cat(policy_loss)",
            ("policy_loss.backward()",),
        ),
        Mistake(
            "optimizer",
            "optimizer.zero_grad()",
            "pass",
            ("policy_loss.backward()", "optimizer.step()"),
            "gradients-not-cleared",
        ),
        Mistake(
            "second episode",
            "del policy.saved_log_probs[:]",
            "pass",
            ("policy_loss.backward()",),
        ),
    ),
    "actor_critic": (
        Mistake(
            "model", "nn.Linear(128, 1)", "nn.Linear(64, 1)", ("self.value_head(x)",)
        ),
        Mistake("forward", "self.action_head(x), dim=-1", "self.action_head(x), dim=1"),
        Mistake(
            "loss",
            "torch.stack(policy_losses).sum()",
            "torch.stack(policy_losses)",
            ("loss.backward()",),
        ),
        Mistake(
            "optimizer",
            "optim.Adam(model.parameters()",
            "optim.Adam(model.action_head.parameters()",
            ("loss.backward()", "optimizer.step()"),
            "not-in-optimizer",
        ),
        Mistake(
            "second episode", "del model.saved_actions[:]", "pass", ("loss.backward()",)
        ),
    ),
    "language_translation": (
        Mistake(
            "data",
            "pad_sequence(src_batch,",
            "pad_sequence(src_batch, True,",
            ("src/model.py|outs = self.transformer(",),
            file="src/data.py",
        ),
        Mistake(
            "model",
            "nn.Linear(embed_size,",
            "nn.Linear(2 * embed_size,",
            ("self.ff(outs)",),
            file="src/model.py",
        ),
        Mistake(
            "mask",
            "(tgt == pad_idx).transpose(0, 1)",
            "(tgt == pad_idx)",
            ("src/model.py|outs = self.transformer(",),
            file="src/data.py",
        ),
        Mistake(
            "loss",
            "def train( ... tgt[1:, :]",
            "tgt",
            ("def train( ... loss = loss_fn(",),
        ),
        Mistake(
            "evaluation",
            "def validate( ... model.eval()",
            "pass",
            ("def validate( ... logits = model(",),
            "evaluated-in-training-mode",
        ),
    ),
}
