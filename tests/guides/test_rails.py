"""The guide for Rack apps with OmniAuth."""

import subprocess
from collections.abc import Callable

import pytest

from tests.guides.journey import Paths, Press, walk
from tests.guides.reading import OpenGuide, needs
from tests.guides.runs import record_run

GEMS = ("gitlab-omniauth-openid-connect", "openid_connect", "sinatra")


def missing_gems() -> bool:
    load = ["ruby", "-e", "require 'omniauth_openid_connect'; require 'sinatra/base'; require 'webrick'"]
    return subprocess.run(load, capture_output=True, check=False).returncode != 0


pytestmark = [pytest.mark.slow, needs("ruby")]


def test_rails(guide: Callable[..., OpenGuide]) -> None:
    if missing_gems():
        pytest.skip("no ruby-omniauth-openid-connect, ruby-sinatra, ruby-webrick on this machine")
    app = guide("rails")
    app.save()
    _install, load, run, _initializer, _controller = app.commands
    app.run(f"{load}\n{run}")
    walk(app, Paths(sign_in=Press("Sign in"), signed_out_refresh="/refresh"))
    printed = app.finish(
        f"ruby -e 'puts %w[{' '.join(GEMS)}].map {{ |name| Gem::Specification.find_by_name(name).version }}'"
    )
    record_run("rails", dict(zip(GEMS, printed.split(), strict=True)))


def test_the_pieces_for_rails_are_ruby(guide: Callable[..., OpenGuide]) -> None:
    app = guide("rails")
    app.save()
    assert len(app.commands) >= 2
    for piece in app.commands[-2:]:
        (app.folder / "piece.rb").write_text(piece)
        assert "Syntax OK" in app.finish("ruby -c piece.rb")
