"""What torch's operators make of metadata. `shapewright.rules.all` registers them."""
