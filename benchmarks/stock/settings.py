"""Settings of Django's project template and the library's tutorial, with OpenID Connect and rotation on.

The only improvement over these defaults is persistent database connections.
"""

import os
from pathlib import Path
from typing import Any

import environ

DEBUG = False
SECRET_KEY = os.environ["SECRET_KEY"]
ALLOWED_HOSTS = ["127.0.0.1"]
ROOT_URLCONF = "benchmarks.stock.urls"
WSGI_APPLICATION = "benchmarks.stock.wsgi.application"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "oauth2_provider",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
TEMPLATES: list[dict[str, Any]] = [
    {"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True, "OPTIONS": {}}
]

DATABASES: dict[str, dict[str, Any]] = {"default": environ.Env.db_url_config(os.environ["DATABASE_URL"])}
DATABASES["default"]["CONN_MAX_AGE"] = None

# The first is the default of Django, and of the library for client secrets. The second is very fast. The secrets of the
# two measured clients are hashed with one each.
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
    "django.contrib.auth.hashers.MD5PasswordHasher",
]

OAUTH2_PROVIDER: dict[str, Any] = {
    "OIDC_ENABLED": True,
    "OIDC_RSA_PRIVATE_KEY": Path(os.environ["RSA_KEY_FILE"]).read_text(),
    "SCOPES": {"openid": "Sign in", "email": "Email address", "profile": "Name"},
    "ROTATE_REFRESH_TOKEN": True,
    "PKCE_REQUIRED": True,
    # Codes are created before the first round, and have to be valid until the last one.
    "AUTHORIZATION_CODE_EXPIRE_SECONDS": 3600,
}
