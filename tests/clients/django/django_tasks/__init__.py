"""A stand-in for the interface of django.tasks, by its reference in Django 6.0: the package django-tasks isn't in Debian."""
from .base import Task, TaskResultStatus, task, task_backends

__all__ = ["Task", "TaskResultStatus", "task", "task_backends"]
