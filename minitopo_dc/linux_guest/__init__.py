"""A Linux kernel as an ordinary process on a virtual clock: user-mode Linux with time travel.

It is both end hosts of one flow: its TCP and MPTCP send packets into network cards that this
process serves, at moments of this process' clock.
"""
