"""`python -m metering.sidecar run …`: the sidecar's commands without the rest of the product."""

from metering.sidecar.cli import sidecar

if __name__ == "__main__":
    sidecar(prog_name="tokentill sidecar")
