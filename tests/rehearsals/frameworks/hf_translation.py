"""A small T5 with the Seq2SeqTrainer, which generates while it evaluates."""

import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import (
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    T5Config,
    T5ForConditionalGeneration,
)


class Pairs(Dataset):
    def __init__(self, count):
        self.random = np.random.default_rng(count)
        self.lengths = self.random.integers(4, 20, (count, 2))

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, index):
        source, target = self.lengths[index]
        return {
            "input_ids": torch.randint(2, 200, (int(source),)),
            "labels": torch.randint(2, 200, (int(target),)),
        }


def padded(items):
    def pad(name, value):
        rows = [each[name] for each in items]
        return torch.nn.utils.rnn.pad_sequence(rows, True, value)

    ids = pad("input_ids", 0)
    return {
        "input_ids": ids,
        "attention_mask": (ids != 0).long(),
        "labels": pad("labels", -100),
    }


def metrics(prediction):
    guesses, labels = prediction.predictions, prediction.label_ids
    guesses = np.where(guesses == -100, 0, guesses)
    labels = np.where(labels == -100, 0, labels)
    lengths = [np.count_nonzero(each) for each in guesses]
    width = min(guesses.shape[1] - 1, labels.shape[1])
    same = guesses[:, 1 : width + 1] == labels[:, :width]
    return {"length": float(np.mean(lengths)), "same": float(same.mean())}


def main():
    config = T5Config(
        vocab_size=200,
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        decoder_start_token_id=0,
        pad_token_id=0,
        eos_token_id=1,
    )
    model = T5ForConditionalGeneration(config)
    arguments = Seq2SeqTrainingArguments(
        output_dir="t5-out",
        num_train_epochs=6,
        per_device_train_batch_size=16,
        per_device_eval_batch_size=32,
        predict_with_generate=True,
        generation_max_length=20,
        eval_strategy="epoch",
        save_strategy="epoch",
        load_best_model_at_end=True,
        metric_for_best_model="same",
        remove_unused_columns=False,
        report_to="none",
    )
    trainer = Seq2SeqTrainer(
        model=model,
        args=arguments,
        train_dataset=Pairs(403),
        eval_dataset=Pairs(67),
        data_collator=padded,
        compute_metrics=metrics,
    )
    trainer.train()
    output = trainer.predict(Pairs(33), max_length=12)
    print(output.predictions.shape, output.metrics)


if __name__ == "__main__":
    main()
