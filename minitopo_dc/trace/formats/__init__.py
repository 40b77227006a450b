"""Readers and writers for files of capacity traces and of cells."""
