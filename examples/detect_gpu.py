"""Does this machine have a GPU that weft can use?"""

from __future__ import annotations

from weft import has_accelerator


def main() -> None:
    if has_accelerator():
        print("GPU detected")
    else:
        print("No GPU detected")


if __name__ == "__main__":
    main()
