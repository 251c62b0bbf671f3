# `make` without a target lists all targets. It needs make and Python 3.11 or newer, and installs the rest into .venv.

PY := .venv/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --no-input
PYTEST := $(PY) -m pytest
# Runs failed tests again, alone. A test that passes the second time is flaky; two of them fail the run.
STRICT := $(PY) -m tests.services.flaky
ON_TWO := -n $(or $(WORKERS),2)
LOCK := "$(CURDIR)/.venv/bin/uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --fork-strategy fewest --custom-compile-command "make lock"

# Marks of tests that only `make test-all` runs.
APART := redis or node or browser or image or proxy or slow
# `make check` runs these.
CHECKED := tests/test_layers.py tests/test_risks.py tests/test_words.py
# These tests wait for servers most of the time, so two cores can run five at once (tests/services/scheduling.py).
WAITING := $(or $(WORKERS),5)
BY_SERVERS := --apart --dist loadscope --no-loadscope-reorder
# With ARGS, tests can be selected from the thorough ones too.
FAST := not postgres and not ($(APART))$(if $(ARGS),, and not thorough)
ON_POSTGRES := (database or postgres or thorough) and not ($(APART))
SERVERS := ($(APART)) and not quiet
# Without .pyc files, each process compiles all source and tests again, which takes half of its start-up time.
unexport PYTHONDONTWRITEBYTECODE
# pytest exits with 5 if no tests match. That is no failure here.
OR_NONE := || [ $$? -eq 5 ]

.DEFAULT_GOAL := help
# With AT_ONCE=1 and --jobs, targets that do not depend on each other run at the same time.
ifndef AT_ONCE
.NOTPARALLEL:
endif
.PHONY: help run app api test test-all guides check format lock sbom bench clean

help: ## Lists the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# `exec` makes signals reach the server. If a shell got them instead, the server would keep running.
run: .venv/.runtime ## Serves the demo on port 8000; PORT=8001 DATA_DIR=.data2 serve a second one at the same time
	@exec $(PY) manage.py serve --demo deploy/demo.toml

app: .venv/.runtime ## Runs a sample app on port 3000 (or APP_PORT) that signs in with the demo of `make run` (in DATA_DIR)
	@exec $(PY) examples/web_app.py

api: .venv/.runtime ## Runs a sample API on port 3100 (or API_PORT), the calendar that the sample app shows
	@exec $(PY) examples/calendar_api.py

test: .venv/.dev ## Runs the everyday tests, on SQLite; ARGS="-k word" selects some, including thorough ones
	TEST_ENGINE=sqlite $(if $(CI),$(STRICT),$(PYTEST)) $(ON_TWO) $(if $(ARGS),,--everyday) -m "$(FAST)" $(ARGS) $(if $(ARGS),$(OR_NONE))

test-all: test ## Runs all tests, also the thorough ones, on PostgreSQL, with Redis, Node, a browser and the image
	TEST_ENGINE=postgres $(STRICT) $(ON_TWO) $(addprefix --ignore=,$(CHECKED)) -m "$(ON_POSTGRES)" $(ARGS) $(if $(ARGS),$(OR_NONE))
	TEST_ENGINE=postgres $(STRICT) -n $(WAITING) $(BY_SERVERS) -m "$(SERVERS)" $(ARGS) $(if $(ARGS),$(OR_NONE))
	TEST_ENGINE=postgres $(STRICT) $(ON_TWO) --dist loadfile --apart -m quiet $(ARGS) $(if $(ARGS),$(OR_NONE))

guides: .venv/.dev ## Runs the guides of the docs, and records the versions and the date
	WRITE_GUIDE_RUNS=1 TEST_ENGINE=sqlite $(PYTEST) -n 0 tests/guides $(ARGS)

check: .venv/.dev ## Checks style, types, import layers, known risks, words, migrations and the production settings
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy
	$(PYTEST) -q $(CHECKED)
	@rm -rf .cache/check && mkdir -p .cache/check
	$(EMBEDDED) $(PY) manage.py makemigrations --check --dry-run
	@echo "manage.py check --deploy, with ENVIRONMENT=production"
	@$(PRODUCTION) $(PY) manage.py check --deploy --fail-level WARNING

format: .venv/.dev ## Formats the source, and fixes what ruff can fix
	$(PY) -m ruff check --fix
	$(PY) -m ruff format

lock: | $(PY) ## Pins *.in in requirements and tests/guides/locks, with hashes; UPGRADE=--upgrade takes the newest versions
	@$(PIP) install -qq --require-hashes -r requirements/lock.txt
	cd requirements && for name in runtime extras dev lock; do $(LOCK) $(UPGRADE) $$name.in -o $$name.txt || exit 1; done
	cd tests/guides/locks && for file in *.in; do $(LOCK) $(UPGRADE) $$file -o $${file%in}txt || exit 1; done

sbom: .venv/.dev ## Writes sbom.cdx.json, the software bill of materials of requirements/extras.txt (CycloneDX)
	@PYTHONPATH=. $(PY) deploy/sbom.py > sbom.cdx.json.tmp && mv sbom.cdx.json.tmp sbom.cdx.json

bench: .venv/.dev ## Compares the service with others (benchmarks/README.md); PYTHON=/usr/bin/python3 sets its Python
	$(PY) benchmarks/run.py $(if $(PYTHON),--python "$(PYTHON)") $(ARGS)

clean: ## Removes installed packages and caches, but not the service's data in .data
	rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis staticfiles tests/clients/node_modules \
		tests/guides/*/node_modules
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- Set-up -----------------------------------------------------------------------------------------

# Each candidate is run to check its version: some names may belong to an older Python, or to none.
$(PY):
	@for python in $(PYTHON) python3 python3.13 python3.12 python3.11 python3.14 python; do \
		if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
			"$$python" -m venv --clear .venv && exit 0; \
			rm -rf .venv; echo "$$python could not make a virtual environment: see above." >&2; exit 1; \
		fi; \
	done; \
	echo "Python 3.11 or newer was not found. Install it, or name it: make run PYTHON=/path/to/python3" >&2; exit 1

# --no-compile: most modules are never imported, and Python compiles the others when they are first imported.
# -qq only shows errors: with several package indexes, pip warns about each index that lacks a package.
.venv/.runtime: requirements/runtime.txt | $(PY)
	@echo "Installing the service's packages into .venv (less than a minute, this once)"
	@$(PIP) install -qq --no-compile --require-hashes -r $<
	@touch $@

.venv/.dev: requirements/dev.txt | $(PY)
	@echo "Installing the packages for development into .venv (about a minute, this once)"
	@$(PIP) install -qq --no-compile --require-hashes -r $<
	@touch .venv/.runtime $@

# --- Settings for `make check` ----------------------------------------------------------------------

EMBEDDED = env -u DATABASE_URL ENVIRONMENT=embedded DATA_DIR=.cache/check

# The check opens no connections, and each run uses new random secrets.
SECRET = $$($(PY) -c "import base64, secrets; print(base64.urlsafe_b64encode(secrets.token_bytes($(1))).decode())")
PRODUCTION = env \
	ENVIRONMENT=production \
	DATA_DIR=.cache/check \
	SECRET_KEY="$(call SECRET,64)" \
	KEY_ENCRYPTION_KEY="$(call SECRET,32)" \
	DATABASE_URL=postgresql://devportal:unused@db.example.com/devportal \
	REDIS_URL=redis://redis.example.com:6379/0 \
	EMAIL_URL=smtp+tls://devportal:unused@mail.example.com:587 \
	AUTH_URL=https://auth.example.com \
	BASE_URL=https://api.example.com \
	ALLOWED_HOSTS=auth.example.com,api.example.com \
	TRUSTED_PROXIES=192.0.2.1 \
	SUPPORT_EMAIL=help@example.com
