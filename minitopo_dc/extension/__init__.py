"""C code of this project made into an extension of Python by cffi, in a cache, without root."""
