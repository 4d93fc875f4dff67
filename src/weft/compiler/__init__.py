"""From a function to code: the stages in order."""
