"""The tasks of the application of tests/clients/django_test.ts."""
from django.db import connection

try:
    from django.tasks import task
except ImportError:
    from django_tasks import task


@task(queue_name="mail")
def send_receipt(order, *, to):
    with connection.cursor() as cursor:
        cursor.execute("SELECT 6 * 7")
        return {"order": order, "to": to, "answer": cursor.fetchone()[0]}


@task(takes_context=True)
def flaky(context):
    if context.attempt == 1:
        raise ConnectionError("the bank is down")
    return context.task_result.id


@task
async def later():
    return "async"


@task
def broken():
    raise TypeError("no such account")
