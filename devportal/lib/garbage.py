"""Garbage collection of server processes, which leaves out what is loaded at their start."""

import gc

from django.urls import get_resolver


def freeze_loaded_objects() -> None:
    """Exempt everything that is loaded now from garbage collection; call it last, when a process starts.

    A full collection would walk through hundreds of thousands of modules, classes and settings, of which none ever
    goes, and takes longer than many requests. It also writes to each of them: a parent that calls this before it forks
    shares their memory with its workers, which would otherwise copy it at their first collection.
    """
    # The first request would import the views, and so bring as many objects again.
    _ = get_resolver().url_patterns
    gc.collect()
    gc.freeze()
