"""Garbage collection in a worker process, which leaves out what is loaded at its start."""

import gc

from django.urls import get_resolver


def freeze_loaded_objects() -> None:
    """Exempt everything that is loaded now from garbage collection; call it last, when a worker starts.

    A full collection would walk through hundreds of thousands of modules, classes and settings, of which none ever
    goes, and takes longer than many requests.
    """
    # The first request would import the views, and so bring as many objects again.
    _ = get_resolver().url_patterns
    gc.collect()
    gc.freeze()
