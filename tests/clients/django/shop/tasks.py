"""The tasks of the application of tests/clients/django_test.ts."""
import os

from django.db import connection
from django.db import connections as databases

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
def connections():
    """Returns how many connections to a database this process has."""
    with databases["kept"].cursor() as cursor:
        cursor.execute("SELECT 1")
    files = [os.path.join("/proc/self/fd", name) for name in os.listdir("/proc/self/fd")]
    name = databases["kept"].settings_dict["NAME"]
    return sum(os.path.realpath(file) == os.path.realpath(name) for file in files)


@task
async def later():
    return "async"


@task
def broken():
    raise TypeError("no such account")
