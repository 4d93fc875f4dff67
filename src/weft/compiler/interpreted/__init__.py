"""The IR as Python that runs line by line: for debuggers, and as a second opinion about passes and LLVM."""
