# `make` alone lists what there is. Only make and Python 3.11 or newer are presumed; all else goes into .venv.

PY := .venv/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --no-input
PYTEST := $(PY) -m pytest
# Runs again what failed, alone: a test that passes then is flaky, and fails the run all the same.
STRICT := $(PY) -m tests.services.flaky
ON_TWO := -n $(or $(WORKERS),2)
LOCK := ../.venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --fork-strategy fewest --custom-compile-command "make lock"

# What the fast suite leaves to `make test-all`.
APART := redis or node or browser or image or proxy or slow
# `make check` runs these.
CHECKED := tests/test_layers.py tests/test_risks.py tests/test_words.py
# They wait for servers as long as they work, so five run on two cores at once (tests/services/scheduling.py).
WAITING := $(or $(WORKERS),5)
BY_SERVERS := --apart --dist loadscope --no-loadscope-reorder
# With ARGS somebody looks for some tests, among all of these.
FAST := not postgres and not ($(APART))$(if $(ARGS),, and not thorough)
ON_POSTGRES := (database or postgres or thorough) and not ($(APART))
SERVERS := ($(APART)) and not quiet
# Each process would compile all source again, and each test process rewrite all tests: half of what starting one takes.
unexport PYTHONDONTWRITEBYTECODE
# pytest's way of saying that it was asked for tests of which there are none.
OR_NONE := || [ $$? -eq 5 ]

.DEFAULT_GOAL := help
# With AT_ONCE=1 and --jobs, targets run at once, as far as one does not need another.
ifndef AT_ONCE
.NOTPARALLEL:
endif
.PHONY: help run app api test test-all guides check format lock sbom bench clean

help: ## Lists these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The one process gets the signals itself: a shell in between would leave it running.
run: .venv/.runtime ## Serves the demo on port 8000; PORT=8001 DATA_DIR=.data2 run a second one beside it
	@exec $(PY) manage.py serve --demo deploy/demo.toml

app: .venv/.runtime ## Runs a sample app on port 3000 (or APP_PORT) that signs in with the demo of `make run` (in DATA_DIR)
	@exec $(PY) examples/web_app.py

api: .venv/.runtime ## Runs a sample API on port 3100 (or API_PORT), the calendar that the sample app shows
	@exec $(PY) examples/calendar_api.py

test: .venv/.dev ## Runs the everyday tests, on SQLite; ARGS="-k word" picks some, among the thorough ones too
	TEST_ENGINE=sqlite $(if $(CI),$(STRICT),$(PYTEST)) $(ON_TWO) -m "$(FAST)" $(ARGS) $(if $(ARGS),$(OR_NONE))

test-all: test ## Runs these and all others: thorough ones, on PostgreSQL, with Redis, Node, a browser, the image
	TEST_ENGINE=postgres $(STRICT) $(ON_TWO) $(addprefix --ignore=,$(CHECKED)) -m "$(ON_POSTGRES)" $(ARGS) $(if $(ARGS),$(OR_NONE))
	TEST_ENGINE=postgres $(STRICT) -n $(WAITING) $(BY_SERVERS) -m "$(SERVERS)" $(ARGS) $(if $(ARGS),$(OR_NONE))
	TEST_ENGINE=postgres $(STRICT) $(ON_TWO) --dist loadfile --apart -m quiet $(ARGS) $(if $(ARGS),$(OR_NONE))

guides: .venv/.dev ## Runs the guides of the docs, and writes down which versions were run, and when
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

format: .venv/.dev ## Puts the source in order
	$(PY) -m ruff check --fix
	$(PY) -m ruff format

lock: | $(PY) ## Pins requirements/*.in, with hashes; UPGRADE=--upgrade takes the newest versions
	@$(PIP) install -qq --require-hashes -r requirements/lock.txt
	cd requirements && for name in runtime extras dev lock; do $(LOCK) $(UPGRADE) $$name.in -o $$name.txt || exit 1; done

sbom: .venv/.dev ## Writes sbom.cdx.json, the bill of materials of requirements/extras.txt (CycloneDX)
	@PYTHONPATH=. $(PY) deploy/sbom.py > sbom.cdx.json.tmp && mv sbom.cdx.json.tmp sbom.cdx.json

bench: .venv/.dev ## Measures the service beside others (benchmarks/README.md); PYTHON=/usr/bin/python3 serves with that one
	$(PY) benchmarks/run.py $(if $(PYTHON),--python "$(PYTHON)") $(ARGS)

clean: ## Removes what was installed and cached, but not the service's data in .data
	rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis staticfiles tests/clients/node_modules \
		tests/guides/*/node_modules
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- Set-up -----------------------------------------------------------------------------------------

# Asks each candidate for its version: some machines have names that lead to an older Python, or nowhere.
$(PY):
	@for python in $(PYTHON) python3 python3.13 python3.12 python3.11 python3.14 python; do \
		if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
			"$$python" -m venv --clear .venv && exit 0; \
			rm -rf .venv; echo "$$python could not make a virtual environment: see above." >&2; exit 1; \
		fi; \
	done; \
	echo "Python 3.11 or newer was not found. Install it, or name it: make run PYTHON=/path/to/python3" >&2; exit 1

# Most modules are never imported, and Python compiles the others at their first import.
# -qq leaves errors only: where several package indexes are set up, pip warns of each that lacks a package.
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

# Nothing is connected to, and the secrets are drawn afresh for each run.
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
