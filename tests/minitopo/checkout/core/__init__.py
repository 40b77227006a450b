# mypy: ignore-errors
"""A stand-in of Minitopo's packages: the interface that its plugins use, and no more.

Written for these tests from what Minitopo is seen to do; $MINITOPO lets them run in a real one.
mypy finds no modules by such names, so that it leaves these out.
"""
