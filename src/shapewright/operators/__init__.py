"""What torch's operators make of metadata. `shapewright.operators.all_shapes` registers
them.
"""
