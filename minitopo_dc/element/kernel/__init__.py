"""What the element asks of the kernel: queues, rules, interfaces, time."""
