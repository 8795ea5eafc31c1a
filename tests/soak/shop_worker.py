"""The shop's worker in Python in a soak. The gateways' addresses are its arguments."""
import functools
import os
import sys

from journal import noted  # first: it finds the client
from jobs_client import Worker

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../examples/shop"))
from worker import Invoice  # noqa: E402


@functools.wraps(Invoice)
def noted_invoice(ctx, order):
    with noted(ctx):
        return Invoice(ctx, order)


Worker(sys.argv[1:], handlers={"Invoice": noted_invoice}, queues=["books"]).run()
