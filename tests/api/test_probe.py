from tests.api.calls import *


def test_probe(key, token):
    for p, kw in [
        ("/v1/me", {}),
        ("/v1/me/plan", {}),
        ("/v1/openapi.json", {}),
        ("/v1/openapi.json", {"Accept": "text/html"}),
        ("/v1/openapi.json?format=zz", {}),
        ("/v1/openapi.json?lang=zz", {}),
        ("/v1/openapi.json?version=%0a", {}),
        ("/v1/a%0Ab", {}),
        ("/v1/a%0A", {}),
        ("/v1", {}),
        ("/v1/", {}),
        ("/v1/me/", {}),
        ("/v1/%00", {}),
        ("/v1?x=%ff", {}),
        ("/v1/me?x=%00%ff", {}),
        ("/v1/m%ff", {}),
        ("/docs/api/?script=&lang=%0a", {}),
        ("/docs/api/", {"Accept": "application/json"}),
    ]:
        for m in ("GET", "POST", "OPTIONS", "HEAD"):
            for c in (key.raw, token):
                try:
                    r = call(p, c, m, **kw)
                    print(
                        m,
                        p,
                        kw,
                        r.status_code,
                        dict(r.headers) if m == "GET" else "",
                        r.content[:150] if r.status_code != 200 or len(r.content) < 400 else "",
                    )
                except Exception as e:
                    print(m, p, kw, "RAISED", repr(e)[:200])
                if "me" not in p:
                    break
