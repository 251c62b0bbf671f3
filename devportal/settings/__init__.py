"""All settings of the service. `environment.py` reads what operators set, and `docs/settings.md` lists it."""

from devportal.settings.django import *
from devportal.settings.environment import *
from devportal.settings.libraries import *
from devportal.settings.logging import *
