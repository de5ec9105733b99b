"""Facts of recurrent layers."""

FACTS = {
    "joins_tensors": "pad_sequence",
    "depends_on_data": "_pack_padded_sequence _pad_packed_sequence",
    "reads_integers": "lstm gru rnn_tanh rnn_relu _pad_packed_sequence",
    "is_recurrent": "lstm gru rnn_tanh rnn_relu",
    "is_recurrent_cell": "lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell",
    "treats_rows_alone": "lstm_cell gru_cell",
    "mixes_devices": "_pack_padded_sequence",
    "takes_sizes_on_cpu": "lstm gru rnn_tanh rnn_relu _pad_packed_sequence",
    "returns_sizes_on_cpu": "_pack_padded_sequence _pad_packed_sequence",
    "accepts_cpu_tensor": "pack_padded_sequence",
    "autocast_lower_cpu": "mkldnn_rnn_layer",
    "autocast_lower_cuda": """
        _thnn_fused_gru_cell _thnn_fused_lstm_cell gru_cell lstm_cell rnn_relu_cell
        rnn_tanh_cell
    """,
    "autocast_name": {"lstm": "mkldnn_rnn_layer"},
    "contains_autocast": """
        gru gru_cell lstm_cell rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell
    """,
}  # fmt: skip
