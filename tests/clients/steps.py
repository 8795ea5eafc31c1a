# The worker of tests/clients/steps_test.ts in Python: Order in a function, Slow and Second in coroutines.
import asyncio
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../clients/python"))
from jobs_client import StepFailed, Worker, job  # noqa: E402

url, notes = sys.argv[1:]


def note(text):
    with open(notes, "a") as file:
        file.write(f"{text}\n")


@job(retry=0, result_ttl="1h")
def Order(ctx, id):
    def charge(step):
        note(f"charge {step.attempt}")
        return {"key": step.idempotency_key == f"{ctx.jid}:charge", "cents": id}

    def flaky(step):
        note(f"flaky {step.attempt}")
        if step.attempt < 3:
            raise TypeError("not yet")

    def ship(_):
        raise TypeError("out of stock")

    card = ctx.step("charge", charge)
    ctx.step("flaky", flaky, retry=3, backoff=0.01)
    ctx.sleep("cool down", 0.05)
    answer = ctx.wait_for("approval", key=f"order-{id}", timeout="1h")
    undone = None
    try:
        ctx.step("ship", ship, retry=0)
    except StepFailed as error:
        kind = error.kind
        undone = ctx.step("refund", lambda _: note("refund") or kind)
    child = ctx.run("invoice", "Invoice", [id], give_up_after="1h", fields={"tenant": "acme"})
    seen = []
    count = ctx.each("lines", lambda after: [1, 2, 3][after or 0:], seen.append)
    return {"card": card, "answer": answer, "undone": undone, "child": child, "count": count, "sum": sum(seen)}


@job(retry=0, result_ttl="1h")
def Invoice(ctx, id):
    return f"invoice {id} {ctx.attempt} {ctx.payload['tenant']}"


@job(retry=0, result_ttl="1h")
def Member(ctx, *args):
    if args:
        return "added"
    ctx.batch.add("Member", [1])
    return len(ctx.batch.id) > 0


@job(retry=0, result_ttl="1h")
def First(ctx):
    return 7


@job(retry=0, result_ttl="1h")
async def Second(ctx):
    return {"node": ctx.flow.node, "results": await ctx.flow.results()}


@job(retry=0, result_ttl="1h")
async def Tell(ctx, count):
    for i in range(1, count + 1):
        ctx.stream(f"line {i}" if i < count else {"last": i})
    return "told"


@job(retry=0, result_ttl="1h")
async def Slow(ctx):
    async def slow(step):
        note(f"slow {step.attempt}")
        await asyncio.sleep(1.5)

    await ctx.step("slow", slow)
    return "slow"


Worker(url, [Order, Invoice, Member, First, Second, Tell, Slow], token=os.environ.get("TOKEN")).run()
