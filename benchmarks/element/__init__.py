"""What the elements cost and carry: Python, native, and a plain UDP proxy."""
