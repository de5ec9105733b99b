"""Facts of padding."""

FACTS = {
    "outgrows_inputs": "pad constant_pad_nd",
    "autocast_full_cpu": """
        reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d
        replication_pad3d
    """,
    "contains_autocast": "pad",
}  # fmt: skip
