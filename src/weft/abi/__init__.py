"""What compiled code and the runtime share: every layout and every number once.

A record is a structure of ctypes; ``records`` gives LLVM's form of it, so that the two cannot differ.
"""
