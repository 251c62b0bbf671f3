"""The settings of the services that tests start: those of operators, but with a fast password hash.

The usual hash takes a quarter of a second, which is longer than the rest of a sign-in, or of provisioning a person.
"""

from devportal.settings import *

PASSWORD_HASHERS = ["tests.services.passwords.QuickPasswordHasher"]
