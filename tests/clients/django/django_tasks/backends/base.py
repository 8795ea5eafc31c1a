from ..exceptions import InvalidTask


class BaseTaskBackend:
    def __init__(self, alias, params):
        self.alias = alias
        self.queues = set(params.get("QUEUES", ["default"]))

    def validate_task(self, task):
        if task.queue_name not in self.queues:
            raise InvalidTask(f"Queue '{task.queue_name}' is not valid for backend.")
