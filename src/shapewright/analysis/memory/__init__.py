"""What the events of a step say: its peak, what the allocator reserves, what helps."""
