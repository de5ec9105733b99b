"""A small GPT-2 with the Trainer: bf16, checkpointed activations, all by steps."""

import torch
from torch.utils.data import Dataset
from transformers import (
    EarlyStoppingCallback,
    GPT2Config,
    GPT2LMHeadModel,
    Trainer,
    TrainingArguments,
)


class Blocks(Dataset):
    def __init__(self, count, length=32):
        generator = torch.Generator().manual_seed(count)
        self.tokens = torch.randint(0, 300, (count, length), generator=generator)

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        ids = self.tokens[index]
        return {"input_ids": ids, "labels": ids.clone()}


def best_tokens(logits, labels):
    return logits.argmax(-1)


def accuracy(prediction):
    guesses, labels = prediction.predictions[:, :-1], prediction.label_ids[:, 1:]
    known = labels != -100
    return {"accuracy": float((guesses == labels)[known].mean())}


def main():
    model = GPT2LMHeadModel(
        GPT2Config(vocab_size=300, n_positions=64, n_embd=32, n_layer=2, n_head=4)
    )
    arguments = TrainingArguments(
        output_dir="gpt-out",
        max_steps=1200,
        per_device_train_batch_size=8,
        per_device_eval_batch_size=16,
        gradient_accumulation_steps=2,
        bf16=True,
        use_cpu=not torch.cuda.is_available(),
        gradient_checkpointing=True,
        learning_rate=1e-3,
        lr_scheduler_type="cosine",
        warmup_steps=50,
        eval_strategy="steps",
        eval_steps=500,
        save_strategy="steps",
        save_steps=500,
        save_total_limit=2,
        logging_steps=100,
        load_best_model_at_end=True,
        metric_for_best_model="eval_loss",
        greater_is_better=False,
        report_to="none",
    )
    trainer = Trainer(
        model=model,
        args=arguments,
        train_dataset=Blocks(803),
        eval_dataset=Blocks(101),
        compute_metrics=accuracy,
        preprocess_logits_for_metrics=best_tokens,
        callbacks=[EarlyStoppingCallback(3)],
    )
    result = trainer.train()
    print(result.metrics["train_loss"], trainer.state.global_step)
    trainer.save_model("gpt-best")
    again = GPT2LMHeadModel.from_pretrained("gpt-best")
    print(again(torch.zeros(1, 8, dtype=torch.long)).logits.shape)
    trainer.save_state()


if __name__ == "__main__":
    main()
