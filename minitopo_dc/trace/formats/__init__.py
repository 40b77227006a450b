"""Files of capacity traces and of cells, read and written."""
