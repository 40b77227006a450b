"""What the element uses of the kernel: queues, rules, interfaces, time."""
