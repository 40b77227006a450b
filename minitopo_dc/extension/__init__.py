"""C code of this project as an extension of Python, made by cffi in a cache without root."""
