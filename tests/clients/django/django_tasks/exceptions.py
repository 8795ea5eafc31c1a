class InvalidTask(Exception):
    pass


class TaskResultDoesNotExist(Exception):
    pass
