from django.dispatch import Signal

task_enqueued, task_started, task_finished = Signal(), Signal(), Signal()
