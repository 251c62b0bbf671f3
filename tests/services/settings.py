"""The settings of the services that tests start: as operators have them, but with a password hash that takes no time.

The hash of the service takes a quarter of a second, more than all else that a sign-in or a provisioned person does.
"""

from devportal.settings import *

PASSWORD_HASHERS = ["tests.services.passwords.QuickPasswordHasher"]
