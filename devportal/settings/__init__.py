"""All settings of the service. What operators set is in `environment.py`; `docs/settings.md` lists every variable."""

from devportal.settings.django import *
from devportal.settings.environment import *
from devportal.settings.libraries import *
from devportal.settings.logging import *
