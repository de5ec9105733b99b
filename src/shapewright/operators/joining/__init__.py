"""Facts of functions that join, split and repeat tensors."""

FACTS = {
    "repeats_whole": "repeat tile",
    "concatenates": "cat concat concatenate",
    "joins_tensors": "cat stack concat block_diag vstack hstack",
    "splits": "split chunk unbind",
    "is_view": """
        split chunk unbind tensor_split hsplit vsplit dsplit split_with_sizes
        unsafe_split unsafe_chunk
    """,
    "takes_entry_per_dim": "repeat tile",
    "takes_size_first": "split",
    "shows_elements": "chunk split unbind",
    "outgrows_inputs": "repeat tile cartesian_prod combinations block_diag meshgrid",
    "may_be_superfluous": "repeat",
    "mistaken_for": {
        "vstack": "hstack", "hstack": "vstack", "stack": "cat", "cat": "stack",
        "split": "chunk",
    },
    "collects_results": "stack cat",
    "is_drawn_by_hand": "meshgrid",
    "depends_on_data": "combinations",
    "reads_integers": "tensor_split",
    "carries_guesses": "stack cat",
    "adds_terms": "stack",
    "leads_to_loss": "stack cat",
    "makes_column": "stack cat",
    "replaces_loops": "stack cat",
    "keeps_weights": "chunk split unbind repeat cat",
    "autocast_widest_cpu": "cat stack",
    "autocast_name": {"concat": "cat", "concatenate": "cat"},
}  # fmt: skip
